"""Every error as a problem document (RFC 9457): what happened, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Callable

import flask
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

from app.core.admission import TooManyConnections
from app.core.errors import Conflict, Malformed, NotKept, SiarError, StoreError, Unknown
from app.core.guesses import TooManyGuesses
from app.deliveries import SpoolFull
from app.operators import WrongKey

logger = logging.getLogger("siar.web")

CONTENT_TYPE = "application/problem+json"


_STATUSES: dict[type[SiarError], int] = {
    Malformed: 400,
    WrongKey: 403,
    Unknown: 404,
    Conflict: 409,
    StoreError: 500,
    SpoolFull: 507,
}
"""Errors whose own sentence is the answer."""


def problem(status: int, detail: str, **members: object) -> flask.Response:
    """A problem document; `members` are extension members (RFC 9457, section 3.2)."""
    title = HTTP_STATUS_CODES.get(status, "Error")
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **members}
    response = flask.jsonify(body)
    response.status_code = status
    response.content_type = CONTENT_TYPE
    response.headers["Cache-Control"] = "no-store"
    return response


def register(app: flask.Flask) -> None:
    """Answer every exception that a view lets through."""
    for kind, status in _STATUSES.items():
        app.register_error_handler(kind, _in_words(status))

    @app.errorhandler(NotKept)
    def not_kept(error: NotKept) -> flask.Response:
        logger.error("%s", error)
        return problem(
            507, "The history cannot be written, so nothing was published; the log has the reason."
        )

    @app.errorhandler(TooManyConnections)
    def too_many(error: TooManyConnections) -> flask.Response:
        response = problem(503, str(error))
        response.headers["Retry-After"] = "5"
        return response

    @app.errorhandler(TooManyGuesses)
    def too_many_guesses(error: TooManyGuesses) -> flask.Response:
        response = problem(429, str(error))
        response.headers["Retry-After"] = str(error.wait_s)
        return response

    @app.errorhandler(OSError)
    def cannot_write(error: OSError) -> flask.Response:
        logger.error("A request failed on the disk or the network: %s", error)
        return problem(507, "The server could not store this; its operator finds the reason in the log.")

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> flask.Response:
        response = problem(error.code or 500, error.description or "")
        for name, value in error.get_headers():
            if name.lower() in ("allow", "retry-after", "www-authenticate"):
                response.headers[name] = value
        return response


def _in_words(status: int) -> Callable[[SiarError], flask.Response]:
    return lambda error: problem(status, str(error))
