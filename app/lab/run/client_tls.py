"""TLS of the clients that Siar brings along."""

from __future__ import annotations

import functools
import ssl
from urllib.parse import urlsplit

from app.core.encryption import Encryption
from app.settings import is_loopback

DEFAULT_PORTS = {"http": 80, "https": 443}


def address_of(url: str) -> tuple[str, int]:
    """Where to connect for a base URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 80)


def encryption_for(url: str) -> Encryption | None:
    """TLS for one connection to a base URL; `None` where it is plain HTTP."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    host = parts.hostname or ""
    return Encryption(host, _trust(is_checked=not is_loopback(host)))


@functools.cache
def _trust(*, is_checked: bool) -> ssl.SSLContext:
    """Whom the system trusts, or the file that `SSL_CERT_FILE` names; read once, as it takes a while.

    On loopback nobody is in between, and a certificate that the user brought seldom names a machine's inside.
    """
    context = ssl.create_default_context()
    if not is_checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
