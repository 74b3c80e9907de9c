"""A plain HTTP request that came to the port of HTTPS is told where to go.

Browsers try http: first for an address that was typed with a port. It carries nothing worth hiding yet, and gets nothing but the address. What is no GET, or names no plausible host, is
closed.
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
    """Whether a connection begins with something else than TLS; waits for its first byte, and leaves it there."""
    first = client.recv(1, socket.MSG_PEEK)
    return bool(first) and first != TLS_HANDSHAKE


def answer(head: bytes) -> bytes | None:
    """The redirection for the beginning of a request; `None` where there is none to give."""
    request, host = _REQUEST.match(head), _HOST.search(head)
    if request is None or host is None:
        return None
    # Never for good: the next start may be without HTTPS, and a browser remembers a 301.
    lines = [
        b"HTTP/1.1 307 Temporary Redirect",
        b"Location: https://" + host[1] + host[2] + request[1],
        b"Content-Length: 0",
        b"Connection: close",
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def redirect(client: Any) -> None:
    """Answer and end the connection. Raises `OSError` when its peer has gone."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < HEAD_BYTES_MAX:
        more = client.recv(HEAD_BYTES_MAX)
        if not more:
            break
        head += more
    told = answer(head)
    if told is not None:
        client.sendall(told)
    client.close()
