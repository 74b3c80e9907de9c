"""Fan-out: subscriptions, the shared stream of each channel, writing to detached connections, and the recorder.

Imports `server/broker` and `server/wsgi`; knows no transport.
"""
