"""A toy transport, "lines": one JSON object per line over HTTP, written by the steps of docs/transports.md.

It has one file per tier, as in app/: `transport.py` (app/server/transports), `view.py` (app/server/web),
`client_protocol.py` (app/core/client) and `lines.js` (static/js/transports); `app.py` registers it by one line.
tests/contract/test_transport_contract.py checks that it keeps the same promises as the real ones.
"""

NAME = "lines"
