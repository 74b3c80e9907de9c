"""The services of the application that answers the present request."""

from __future__ import annotations

from typing import cast

import flask

from app.server.services import Services

KEY = "siar"


def services() -> Services:
    """The parts of this server."""
    return cast(Services, flask.current_app.extensions[KEY])


def cookie_path() -> str:
    """The part of the host that is this service: another one may be below another prefix."""
    return f"{flask.request.script_root}/"
