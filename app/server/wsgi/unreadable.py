"""The response to a request that gunicorn cannot parse: a problem document instead of gunicorn's HTML without Date.

It is in English, because the language that the client prefers is unknown.
"""

from __future__ import annotations

from typing import Any

from gunicorn import util

from app.i18n import LANGUAGES, refusal
from app.server.wsgi import problem

_CODES = {414: "address_too_long", 431: "head_too_long", 500: "failed", 501: "transfer_coding"}
"""Codes by the status that gunicorn chose; for others the request is unreadable."""

_REASON_CHARS_MAX = 200
"""gunicorn's reasons quote the request, so they are truncated."""


def use() -> None:
    """Replace gunicorn's function in this process."""
    util.write_error = write_error


def write_error(sock: Any, status: int, _title: str, reason: str) -> None:
    """Write the response; replaces gunicorn's function of this name, which calls a 501 a "Bad Request"."""
    detail = refusal(_CODES.get(status, "request_unreadable"), reason=reason[:_REASON_CHARS_MAX])
    line, headers, body = problem.answer(status, detail, LANGUAGES[0])
    head = [f"HTTP/1.1 {line}", f"Date: {util.http_date()}", *(f"{name}: {value}" for name, value in headers)]
    util.write_nonblock(sock, "\r\n".join([*head, "", ""]).encode("latin-1") + body)
