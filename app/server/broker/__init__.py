"""Order and history: notifications get their offsets here, and clients that were away get what they missed.

`base` states the promises that each broker keeps. Imports `server/wsgi` for threads, and what lies below `server`.
"""
