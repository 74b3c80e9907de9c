"""A toy transport, "lines": one JSON object per line over HTTP, written by the steps of docs/transports.md.

One file per tier, as in app/: `transport.py` (app/server/transports), `view.py` (app/server/web), `speech.py` (app/core/client) and
`lines.js` (static/js/transports); `app.py` registers it. tests/contract/test_transport_contract.py holds it to what the
real ones promise.
"""

NAME = "lines"
