"""The answer to a request that gunicorn cannot read: a problem document, where gunicorn has HTML and no Date.

It is in English, because nobody knows which language the client of a request that could not be read prefers.
"""

from __future__ import annotations

from typing import Any

from gunicorn import util

from app.i18n import LANGUAGES, refusal
from app.server.wsgi import problem

_CODES = {414: "address_too_long", 431: "head_too_long", 500: "failed", 501: "transfer_coding"}
"""By the status that gunicorn chose; with any other one the request could not be read."""

_REASON_CHARS_MAX = 200
"""gunicorn's reasons quote the request."""


def use() -> None:
    """Let this process' workers answer so from now on."""
    util.write_error = write_error


def write_error(sock: Any, status: int, _title: str, reason: str) -> None:
    """Write the answer in the place of gunicorn's function of this name, which calls a 501 a "Bad Request"."""
    detail = refusal(_CODES.get(status, "request_unreadable"), reason=reason[:_REASON_CHARS_MAX])
    line, headers, body = problem.answer(status, detail, LANGUAGES[0])
    head = [f"HTTP/1.1 {line}", f"Date: {util.http_date()}", *(f"{name}: {value}" for name, value in headers)]
    util.write_nonblock(sock, "\r\n".join([*head, "", ""]).encode("latin-1") + body)
