"""One HTTP request as a check makes it: past all proxies of the environment, and with a strange certificate accepted.

Nothing secret is sent. Who has to trust the certificate is the browser; here it is only told whether one would.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

TIMEOUT_S = 3.0
"""A LAN answers in milliseconds. What has not come by then is held back."""

BODY_BYTES_MAX = 65_536

TROUBLE = (OSError, http.client.HTTPException, ValueError)
"""What a request may end with (a time-out and a failed handshake are kinds of `OSError`; an address that can be none, as
one whose port is no number, is a `ValueError`)."""


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    content_type: str
    body: bytes
    """Its beginning."""


def connection(url: str, *, timeout_s: float = TIMEOUT_S) -> http.client.HTTPConnection:
    """A connection to a URL's host, opened by its first request."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=timeout_s, context=unchecked()
        )
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)


def get(url: str, path: str, *, timeout_s: float = TIMEOUT_S) -> tuple[int, bytes]:
    """Status and the beginning of the body. Raises what is in `TROUBLE`."""
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
    """One request on a connection of its own. Raises what is in `TROUBLE`."""
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
    """TLS without looking at who answers."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
