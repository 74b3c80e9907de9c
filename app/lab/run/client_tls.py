"""TLS of the built-in clients."""

from __future__ import annotations

import functools
import ssl
from urllib.parse import urlsplit

from app.core.encryption import Encryption
from app.settings import is_loopback

DEFAULT_PORTS = {"http": 80, "https": 443}


def address_of(url: str) -> tuple[str, int]:
    """Return host and port of a base URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 80)


def encryption_for(url: str) -> Encryption | None:
    """Return the TLS state of a new connection to a base URL; `None` for plain HTTP."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    host = parts.hostname or ""
    return Encryption(host, _context(is_checked=not is_loopback(host)))


@functools.cache
def _context(*, is_checked: bool) -> ssl.SSLContext:
    """Return a context with the system's root certificates, or those of `SSL_CERT_FILE`. Cached, because loading is slow.

    Certificates are not checked on loopback: there is no attacker in between, and the user's seldom names localhost.
    """
    context = ssl.create_default_context()
    if not is_checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
