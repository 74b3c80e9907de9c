"""A server that runs already: it is checked before thousands of users connect, and its clock channel is found."""

from __future__ import annotations

import contextlib
import socket
import ssl
from dataclasses import replace
from urllib.parse import urlsplit

from app.core.errors import Unfit
from app.lab.run import api
from app.lab.run.api import Server
from app.lab.run.client_tls import address_of

TIMEOUT_S = 5.0


def find(url: str, *, admin_token: str) -> Server:
    """Return the server at `url`, with the clock channel reachable from here. Raises `Unfit`."""
    if urlsplit(url).scheme == "https":
        _check_certificate(url)
    server = api.find_server(url, admin_token=admin_token)
    if server.clock_port is not None and not _can_be_asked(server.host, server.clock_port, base=url):
        # A proxy seldom forwards the clock channel's port; then `GET /api/clock` is used instead.
        return replace(server, clock_port=None)
    return server


def _check_certificate(url: str) -> None:
    host, port = address_of(url)
    with contextlib.suppress(OSError):  # A server that does not answer is reported by `find_server`.
        try:
            with (
                socket.create_connection((host, port), TIMEOUT_S) as plain,
                ssl.create_default_context().wrap_socket(plain, server_hostname=host),
            ):
                return
        except ssl.SSLCertVerificationError as error:
            raise Unfit(
                f"The certificate at {url} is not to be trusted ({error.verify_message.rstrip('.')}). "
                "Name the file of who vouches for it with --ca."
            ) from error
        except ssl.SSLError as error:
            raise Unfit(f"What answers at {url} does not speak TLS ({error.reason}).") from error


def _can_be_asked(host: str, port: int, *, base: str) -> bool:
    """Return whether the clock channel answers at the port, encrypted if the service is."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), TIMEOUT_S) as plain:
        if urlsplit(base).scheme == "https":
            ssl.create_default_context().wrap_socket(plain, server_hostname=host).close()
        return True
    return False
