"""The registered device that a request comes from, and the client network that its limits are counted for."""

from __future__ import annotations

import flask
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from app.core.network_of import network_of
from app.i18n import refusal
from app.server.deliveries import COOKIE
from app.server.web.auth import bearer_token
from app.server.web.current import services
from app.server.wsgi.peer import address_of, is_this_machine


def require_registered() -> str:
    """Return the device that a request proves, by its cookie or by the cookie's value as a bearer token.

    `Authorization: Bearer <device>.<token>`. Raises 401.
    """
    devices = services().devices
    cookie = flask.request.cookies.get(COOKIE)
    device = devices.from_cookie(bearer_token()) or devices.from_cookie(cookie)
    if device is None:
        raise Unauthorized(
            refusal("device_only"),
            www_authenticate=WWWAuthenticate("Bearer"),
        )
    return device


def network_here() -> str | None:
    """Return the sender's network, which shares limits; `None` for programs on this machine, which have none."""
    environ = flask.request.environ
    return None if is_this_machine(environ) else network_of(address_of(environ))
