"""Redirects a plain HTTP request that came to the HTTPS port.

Browsers try http: first for an address that was typed with a port. Such a request has no secrets yet, and the response has
only the address. A connection whose request is not a GET or HEAD, or names no plausible host, is closed.
"""

from __future__ import annotations

import re
import socket
from typing import Any

TLS_HANDSHAKE = b"\x16"
"""The first byte of every TLS connection (RFC 8446, section 5.1: content type handshake)."""

HEAD_BYTES_MAX = 8192

_REQUEST = re.compile(rb"(?:GET|HEAD) (/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})[ \t]*\r\n", re.IGNORECASE)


def is_plain(client: Any) -> bool:
    """Return True if a connection begins with something other than TLS. Waits for its first byte, and does not consume it."""
    first = client.recv(1, socket.MSG_PEEK)
    return bool(first) and first != TLS_HANDSHAKE


def redirection(head: bytes) -> bytes | None:
    """Return the redirection for a request's head, or `None` if it gets none."""
    request, host = _REQUEST.match(head), _HOST.search(head)
    if request is None or host is None:
        return None
    # Not permanent: the next start may be without HTTPS, and a browser remembers a 301.
    lines = [
        b"HTTP/1.1 307 Temporary Redirect",
        b"Location: https://" + host[1] + host[2] + request[1],
        b"Content-Length: 0",
        b"Connection: close",
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def redirect(client: Any) -> None:
    """Write the redirection, if any, and close the connection. Raises `OSError` when its peer has gone."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < HEAD_BYTES_MAX:
        more = client.recv(HEAD_BYTES_MAX)
        if not more:
            break
        head += more
    response = redirection(head)
    if response is not None:
        client.sendall(response)
    client.close()
