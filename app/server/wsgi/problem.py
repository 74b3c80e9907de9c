"""Problem documents (RFC 9457): their members, and responses that refuse a request before Flask handles it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from app.core.sentence import Sentence, parameters
from app.i18n import REFUSAL, in_language

CONTENT_TYPE = "application/problem+json"


def members(status: int, title: str, detail: Sentence, language: str) -> dict[str, object]:
    """Return the members that every problem document has."""
    return {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": in_language(language, detail),
        "code": detail.code.removeprefix(REFUSAL),
        "parameters": parameters(detail.places),
    }


def answer(status: int, detail: Sentence, language: str) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return status line, headers and body of a response after which the connection closes."""
    title = HTTPStatus(status).phrase
    body = json.dumps(members(status, title, detail, language)).encode()
    headers = [
        ("Content-Type", CONTENT_TYPE),
        ("Content-Language", language),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("Connection", "close"),
    ]
    return f"{status} {title}", headers, body


def refuse(
    start_response: Callable[..., Any], status: int, detail: Sentence, language: str
) -> Iterable[bytes]:
    """Send that response as a WSGI application."""
    line, headers, body = answer(status, detail, language)
    start_response(line, headers)
    return [body]
