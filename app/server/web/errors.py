"""Every error as a problem document (RFC 9457): what happened and what to do next, in the reader's language.

`code` and `parameters` are for programs. The texts are in static/i18n/<language>/server.json.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import flask
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

from app.core.errors import Conflict, Malformed, NotKept, SiarError, StoreError, TooLong, Unknown
from app.core.sentence import Sentence
from app.i18n import refusal
from app.server.auth_throttle import TooManyGuesses
from app.server.deliveries import DeviceFull, NetworkFull, SpoolFull
from app.server.operators import WrongKey
from app.server.web import locale
from app.server.wsgi.admission import TooManyConnections
from app.server.wsgi.problem import CONTENT_TYPE
from app.server.wsgi.problem import members as members_of
from app.store.archive.self_tests import SelfTestsFull

logger = logging.getLogger("siar.web")

PAGE_TYPE = "text/html; charset=utf-8"

_STATUSES: dict[type[SiarError], int] = {
    Malformed: 400,
    WrongKey: 403,
    Unknown: 404,
    Conflict: 409,
    TooLong: 413,
    StoreError: 500,
    SpoolFull: 507,
    DeviceFull: 413,
    NetworkFull: 413,  # Upon a 507 a phone would retry the batch, and hold back all later ones.
    SelfTestsFull: 507,
}
"""Errors whose own sentence is the response's detail, with their status."""


_CODES: dict[type[SiarError], str] = {
    Malformed: "malformed",
    Unknown: "unknown",
    Conflict: "conflict",
    StoreError: "damaged",
}
"""Codes of errors without a code of their own, whose sentences are shown in terminals too and stay in English."""

_HTTP_CODES = {404: "no_such_page", 405: "wrong_method", 500: "failed"}
"""Codes of errors that Werkzeug raises."""


def problem(status: int, detail: str, **members: object) -> flask.Response:
    """Return a problem document; `members` are extension members (RFC 9457, section 3.2).

    `detail` is a sentence of the catalogue; any other text is passed on under the code `other`.
    """
    language = locale.language()
    if not isinstance(detail, Sentence):
        detail = refusal("other", reason=detail)
    body = _document(status, detail, language) | members
    if _is_navigation():
        response = flask.Response(
            flask.render_template("refused.html", language=language, **body), content_type=PAGE_TYPE
        )
    else:
        response = flask.jsonify(body)
        response.content_type = CONTENT_TYPE
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Language"] = language
    return response


def document_of(error: SiarError) -> dict[str, object]:
    """Return the problem document of an error, to be part of a larger response."""
    status = next(_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES)
    return _document(status, sentence_of(error), locale.language())


def _document(status: int, detail: Sentence, language: str) -> dict[str, object]:
    return members_of(status, HTTP_STATUS_CODES.get(status, "Error"), detail, language)


def _is_navigation() -> bool:
    """Return whether a person followed a link: browsers then prefer HTML, programs do not."""
    wanted = flask.request.accept_mimetypes
    return flask.request.method == "GET" and wanted["text/html"] > wanted[CONTENT_TYPE]


def _break_reference_cycle(_error: BaseException | None) -> None:
    """Break the reference cycle that an unknown path leaves: request, refusal, traceback, frames, request.

    Each event of a Socket.IO client runs in such a request too, and only the garbage collector would free its forty frames.
    """
    refused = flask.request.routing_exception
    if refused is not None:
        refused.__traceback__ = refused.__context__ = refused.__cause__ = None


def register(app: flask.Flask) -> None:
    """Register handlers for every exception that a view raises."""
    for kind, status in _STATUSES.items():
        app.register_error_handler(kind, _in_words(status))
    app.teardown_request(_break_reference_cycle)

    @app.errorhandler(NotKept)
    def not_kept(error: NotKept) -> flask.Response:
        logger.error("%s", error)
        return problem(507, refusal("history_unwritable"))

    @app.errorhandler(TooManyConnections)
    def too_many(error: TooManyConnections) -> flask.Response:
        response = problem(503, refusal(error.reason, count=error.count_max))
        response.headers["Retry-After"] = "5"
        return response

    @app.errorhandler(TooManyGuesses)
    def too_many_guesses(error: TooManyGuesses) -> flask.Response:
        response = problem(429, refusal("too_many_guesses", seconds=error.wait_s))
        response.headers["Retry-After"] = str(error.wait_s)
        return response

    @app.errorhandler(OSError)
    def cannot_write(error: OSError) -> flask.Response:
        logger.error("A request failed on the disk or the network: %s", error)
        return problem(507, refusal("cannot_store"))

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> flask.Response:
        response = problem(error.code or 500, _said_by_http(error))
        for name, value in error.get_headers():
            if name.lower() in ("allow", "retry-after", "www-authenticate"):
                response.headers[name] = value
        return response


def _in_words(status: int) -> Callable[[SiarError], flask.Response]:
    return lambda error: problem(status, sentence_of(error))


def sentence_of(error: SiarError) -> Sentence:
    """Return the error's message with its catalogue key, for any language."""
    found = error.args[0] if error.args else None
    if isinstance(found, Sentence):
        return found
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), "other")
    return refusal(code, reason=str(error))


def _said_by_http(error: HTTPException) -> Sentence:
    if isinstance(error.description, Sentence):
        return error.description
    code = _HTTP_CODES.get(error.code or 500)
    return refusal(code) if code else refusal("other", reason=error.description or error.name)
