"""Would a browser trust the certificate that an address shows."""

from __future__ import annotations

import contextlib
import socket
import ssl
from urllib.parse import urlsplit

from app.tools.doctor.ask import TIMEOUT_S
from app.tools.doctor.finding import Finding, ok, warn

NAME = "certificate"


def look(url: str, *, authority: str | None = None) -> Finding | None:
    """`authority`: a file with a certificate that devices were told to trust. `None` where there is no TLS to look at."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    context = ssl.create_default_context(cafile=authority)
    host = parts.hostname or ""
    # Who does not answer at all is `reach`'s to say.
    with contextlib.suppress(OSError):
        try:
            with (
                socket.create_connection((host, parts.port or 443), TIMEOUT_S) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                return ok(NAME, "trusted", url=url)
        except ssl.SSLCertVerificationError as error:
            return warn(NAME, "strange", url=url, reason=error.verify_message.rstrip("."))
    return None
