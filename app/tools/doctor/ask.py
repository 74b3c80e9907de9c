"""A check's HTTP request: bypasses all proxies of the environment and accepts any certificate.

Nothing secret is sent. Whether a browser would trust the certificate is a check of its own.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

TIMEOUT_S = 3.0
"""A LAN answers in milliseconds; what takes longer than this counts as held back."""

BODY_BYTES_MAX = 65_536

TROUBLE = (OSError, http.client.HTTPException, ValueError)
"""Exceptions of a failed request. A timeout and a failed TLS handshake are kinds of `OSError`; an impossible address,
such as one with a port that is no number, raises `ValueError`."""


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    content_type: str
    body: bytes
    """The first `BODY_BYTES_MAX` bytes of the body."""


def connection(url: str, *, timeout_s: float = TIMEOUT_S) -> http.client.HTTPConnection:
    """Return a connection to a URL's host; it is opened by its first request."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=timeout_s, context=unchecked()
        )
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)


def get(url: str, path: str, *, timeout_s: float = TIMEOUT_S) -> tuple[int, bytes]:
    """Send a GET. Returns status and the beginning of the body. Raises the exceptions in `TROUBLE`."""
    answer = request("GET", url.rstrip("/") + path, timeout_s=timeout_s)
    return answer.status, answer.body


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Answer:
    """Send one request on a new connection. Raises the exceptions in `TROUBLE`."""
    link = connection(url, timeout_s=timeout_s)
    parts = urlsplit(url)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    try:
        link.request(method, target, body=body, headers={"Connection": "close", **(headers or {})})
        answer = link.getresponse()
        return Answer(answer.status, answer.headers.get_content_type(), answer.read(BODY_BYTES_MAX))
    finally:
        link.close()


def unchecked() -> ssl.SSLContext:
    """Return a TLS context that accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
