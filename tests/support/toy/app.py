"""Siar with the toy transport: `gunicorn -c gunicorn.conf.py tests.support.toy.app:app`.

A real transport's registration is a line of app/server/registry.py.
"""

from __future__ import annotations

from app.server.factory import create_app
from app.server.transports.base import Registration
from tests.support.toy import NAME
from tests.support.toy.transport import make
from tests.support.toy.view import make_blueprint

app = create_app()
Registration(NAME, make, make_blueprint).attach(app, app.services)
