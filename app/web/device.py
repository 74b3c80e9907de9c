"""Which registered device a request comes from, where the request does not name one."""

from __future__ import annotations

import flask
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from app.catalogues import refusal
from app.deliveries import COOKIE
from app.web.auth import bearer_token
from app.web.here import services


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
