"""Access to the services from within a request."""

from __future__ import annotations

from typing import cast

import flask

from app.server.services import Services

KEY = "siar"


def services() -> Services:
    """Return the components of the server that handles the current request."""
    return cast(Services, flask.current_app.extensions[KEY])


def cookie_path() -> str:
    """Return the cookies' path: the prefix of this service, because the host may serve others under other prefixes."""
    return f"{flask.request.script_root}/"
