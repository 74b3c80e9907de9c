"""One HTTP request as a check makes it: past all proxies of the environment, and with a strange certificate accepted.

Nothing secret is sent. Who has to trust the certificate is the browser; here it is only told whether one would.
"""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit

TIMEOUT_S = 3.0
"""A LAN answers in milliseconds. What has not come by then is held back."""

TROUBLE = (OSError, http.client.HTTPException, ValueError)
"""What a request may end with (a time-out and a failed handshake are kinds of `OSError`; an address that can be none, as
one whose port is no number, is a `ValueError`)."""


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
    link = connection(url, timeout_s=timeout_s)
    try:
        link.request("GET", urlsplit(url).path.rstrip("/") + path, headers={"Connection": "close"})
        answer = link.getresponse()
        return answer.status, answer.read(65_536)
    finally:
        link.close()


def unchecked() -> ssl.SSLContext:
    """TLS without looking at who answers."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
