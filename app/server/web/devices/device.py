"""Which registered device a request comes from, where the request does not name one, and from which network."""

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
    """The device that the request proves to be: by its cookie, or the cookie's value as a bearer token.

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
    """By what the request's sender shares a bound with others; `None`: a program of this machine, which has none."""
    environ = flask.request.environ
    return None if is_this_machine(environ) else network_of(address_of(environ))
