"""Do the events of a stream come at once, or does something on the way collect bytes before it passes them on.

A proxy that does (one that compresses streams, a company's web filter) makes notifications late, and nothing in the
answer's headers shows it. Some pass the first event on and hold the next one back, and some compress for those who offer
it, as browsers do. So this client offers it, and where something is in between a second event decides: a heartbeat.
"""

from __future__ import annotations

import http.client
import socket
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit

from app import clock
from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok, warn

NAME = "first_byte"

PATH = "/events?topic=siar-self-check"
"""On a topic of its own, so that what is published meanwhile does not count this as a recipient."""

PROMPT_MS = 500
"""A loaded machine answers in tens of milliseconds."""

EVENT_END = b"\n\n"

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""zlib looks which of the two it is."""


def look(url: str, *, heartbeat_within_s: float | None = None) -> Finding:
    """Duration until the first event of `/events`, from the request on.

    `heartbeat_within_s`: how long to wait for the second one; `None`: the beginning of the first one decides.
    """
    link = ask.connection(url)
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    try:
        asked_us = clock.monotonic_us()
        link.request("GET", urlsplit(url).path.rstrip("/") + PATH, headers=headers)
        sock: socket.socket = link.sock  # An answer that ends with its connection takes it out of `link`.
        answer = link.getresponse()
        if answer.status != 200:
            return fail(NAME, "no_stream", url=url, status=answer.status)
        unpack = _unpacker(answer)
        try:
            end = b"" if heartbeat_within_s is None else EVENT_END
            begun = _read(answer, sock, unpack, end=end, within_s=ask.TIMEOUT_S)
        except TimeoutError:
            return fail(NAME, "held_back", url=url, timeout_s=round(ask.TIMEOUT_S))
        took_ms = (clock.monotonic_us() - asked_us) / 1000
        if begun and heartbeat_within_s is not None:
            try:
                begun = _read(answer, sock, unpack, end=b"", within_s=heartbeat_within_s)
            except TimeoutError:
                return fail(NAME, "later_held_back", url=url, timeout_s=round(heartbeat_within_s))
    except ask.TROUBLE as trouble:
        return fail(NAME, "no_answer", url=url, reason=str(trouble) or type(trouble).__name__)
    except zlib.error:
        return fail(NAME, "no_answer", url=url, reason="gzip")
    finally:
        link.close()
    if not begun:
        return fail(NAME, "ended", url=url)
    places = {"url": url, "took_ms": f"{took_ms:.0f}"}
    return ok(NAME, "prompt", **places) if took_ms < PROMPT_MS else warn(NAME, "slow", **places)


def _unpacker(answer: http.client.HTTPResponse) -> Callable[[bytes], bytes]:
    """Makes text of what came."""
    is_packed = answer.headers.get("Content-Encoding", "identity").lower() != "identity"
    return zlib.decompressobj(GZIP_OR_ZLIB).decompress if is_packed else bytes


def _read(
    answer: http.client.HTTPResponse,
    sock: socket.socket,
    unpack: Callable[[bytes], bytes],
    *,
    end: bytes,
    within_s: float,
) -> bool:
    """Read until `end` has come, and return true; false if the stream ended before. Raises `TimeoutError`."""
    until_us = clock.monotonic_us() + round(within_s * 1e6)
    text = b""
    while not text or end not in text:
        sock.settimeout(max(0.001, (until_us - clock.monotonic_us()) / 1e6))
        piece = answer.read1(ask.BODY_BYTES_MAX)
        if not piece:
            return False
        text += unpack(piece)
    return True
