"""The services of the application that answers the present request."""

from __future__ import annotations

from typing import cast

import flask

from app.services import Services

KEY = "siar"


def services() -> Services:
    """The parts of this server."""
    return cast(Services, flask.current_app.extensions[KEY])
