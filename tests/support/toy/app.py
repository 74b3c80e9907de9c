"""Siar with the toy transport: `gunicorn -c gunicorn.conf.py tests.support.toy.app:app`.

A real transport does this registration in app/server/services.py and app/server/factory.py.
"""

from __future__ import annotations

from app.server.factory import create_app
from app.server.wsgi.takeover import SocketOptions
from tests.support.toy import NAME
from tests.support.toy.transport import LinesTransport
from tests.support.toy.view import blueprint

app = create_app()
_parts = app.services
app.extensions[NAME] = LinesTransport(
    _parts.fanout,
    _parts.broker,
    _parts.admission,
    SocketOptions(_parts.settings.send_buffer_bytes, round(_parts.settings.peer_timeout_s * 1000)),
    _parts.settings.queue_notifications_max,
)
app.register_blueprint(blueprint)
