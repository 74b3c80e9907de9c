"""Who may what: the operator's token, a device's token, and the few things that loopback may without one."""

from __future__ import annotations

import hmac
import ipaddress

import flask
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from app.deliveries import COOKIE
from app.web.here import services


def bearer_token() -> str:
    """The token of `Authorization: Bearer`, or an empty string."""
    scheme, _, token = flask.request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_operator() -> bool:
    """Whether the request carries the operator's token; compared in constant time."""
    return hmac.compare_digest(bearer_token().encode(), services().settings.admin_token.encode())


def require_operator() -> None:
    """Raises 401 for everybody else."""
    if not is_operator():
        raise _unauthorized("This needs the operator's token, as `Authorization: Bearer <token>`.")


def require_operator_or_loopback() -> None:
    """For what a monitor on the same machine may read without a token. Raises 401."""
    if not is_operator() and not is_loopback():
        raise _unauthorized("From another machine this needs the operator's token.")


def require_device(device: str) -> None:
    """Raises 401 unless the request proves to be `device`, by its token or its cookie."""
    devices = services().devices
    if devices.is_genuine(device, bearer_token()):
        return
    if devices.from_cookie(flask.request.cookies.get(COOKIE)) != device:
        raise _unauthorized("The token is not this device's. Register anew: POST /api/devices.")


def is_loopback() -> bool:
    """Whether the request comes from this machine."""
    try:
        return ipaddress.ip_address(flask.request.remote_addr or "").is_loopback
    except ValueError:
        return False


def _unauthorized(sentence: str) -> Unauthorized:
    return Unauthorized(sentence, www_authenticate=WWWAuthenticate("Bearer"))
