"""Checks of a running service as a client sees it, directly or through a proxy.

reach          every address that phones are given answers
certificate    a browser would trust the certificate
page           the phone page loads with all its files
origin         the service accepts a POST from its own page
first_byte     events of a stream arrive at once
upgrade        a WebSocket can be opened
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import zlib
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from app import clock
from app.settings import is_loopback
from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, fail, ok, warn

PAGE_FILES_MAX = 200
"""Three times the number of files of the page."""

POST_PATH = "/api/deliveries"
FOREIGN_ORIGIN = "foreign_origin"
"""Error code of a POST that the service takes for another site's."""

STREAM_PATH = "/events?topic=siar-self-check"
"""A stream of its own topic, so that it is not counted as a recipient of what is published meanwhile."""

PROMPT_MS = 500
"""Even a loaded machine answers in tens of milliseconds."""

EVENT_END = b"\n\n"

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""Window size with which zlib detects the format itself."""

_WEBSOCKET_PATH = "/socket.io/?EIO=4&transport=websocket"
_IMPORTS = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")


def check_reach(urls: Sequence[str]) -> Finding:
    """Check that the service answers at every URL. Asked from this machine, this shows what it is bound to."""
    for url in urls:
        try:
            status, _body = ask.get(url, "/healthz")
        except ask.TROUBLE as trouble:
            return fail("reach", "silent", url=url, reason=_reason(trouble))
        if status != 200:
            return fail("reach", "strange", url=url, status=status)
    return ok("reach", "answers", url=urls[0])


def _reason(trouble: Exception) -> str:
    return str(trouble) or type(trouble).__name__


def check_certificate(url: str, *, authority: str | None = None) -> Finding | None:
    """Check whether a browser would trust the certificate.

    Returns `None` without TLS, or if nobody answers, which `check_reach` reports. `authority`: a file with a
    certificate that devices were told to trust.
    """
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    context = ssl.create_default_context(cafile=authority)
    host = parts.hostname or ""
    with contextlib.suppress(OSError):
        try:
            with (
                socket.create_connection((host, parts.port or 443), ask.TIMEOUT_S) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                return ok("certificate", "trusted", url=url)
        except ssl.SSLCertVerificationError as error:
            return warn("certificate", "strange", url=url, reason=error.verify_message.rstrip("."))
    return None


def check_page(url: str) -> Finding:
    """Check that the phone page loads with all its files: styles, scripts, and their imports.

    If proxy and service disagree on the prefix, the page itself loads, but its files do not. A proxy often answers for
    a missing file with an HTML page and status 200, so the content type is checked too.
    """
    page = url.rstrip("/") + "/"
    files = [page]
    for each in files:
        try:
            answer = ask.request("GET", each)
        except ask.TROUBLE as trouble:
            return fail("page", "no_answer", url=each, reason=_reason(trouble))
        if answer.status != 200:
            return fail("page", "missing", url=each, status=answer.status)
        if each != page and answer.content_type == "text/html":
            return fail("page", "another", url=each)
        text = answer.body.decode(errors="replace")
        found = _references(text) if each == page else _IMPORTS.findall(text)
        there = [urljoin(each, reference) for reference in found]
        new = [name for name in dict.fromkeys(there) if _is_same_site(name, page) and name not in files]
        files += new[: max(0, PAGE_FILES_MAX - len(files))]
    if len(files) == 1:
        return fail("page", "another", url=page)
    return ok("page", "whole", url=page, count=len(files))


def _references(page: str) -> list[str]:
    reader = _ReferenceParser()
    reader.feed(page)
    return reader.found


def _is_same_site(url: str, page: str) -> bool:
    return urlsplit(url)[:2] == urlsplit(page)[:2]


class _ReferenceParser(HTMLParser):
    """Collects the URLs that a browser loads together with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element's reference, if it has one."""
        name = {"link": "href", "script": "src", "img": "src"}.get(tag)
        value = dict(attrs).get(name) if name else None
        if value:
            self.found.append(value)


def check_origin(url: str) -> Finding:
    """Check that a POST as the service's own page sends it is not refused for its origin.

    A proxy that replaces `Host` by its own name makes the page look like another site's. The POST has no deliveries in
    it, so the service must refuse it for that reason alone.
    """
    try:
        answer = ask.request("POST", url.rstrip("/") + POST_PATH, headers=_browser_headers(url), body=b"{}")
    except ask.TROUBLE as trouble:
        return fail("origin", "no_answer", url=url, reason=_reason(trouble))
    code = _error_code(answer.body)
    if code == FOREIGN_ORIGIN:
        return fail("origin", "refused", url=url)
    if answer.status != 400 or not code:
        return fail("origin", "strange", url=url, status=answer.status)
    return ok("origin", "accepted", url=url)


def _error_code(body: bytes) -> str | None:
    """Return the code of one of the service's errors; `None` if the body is none, as a proxy's own page."""
    try:
        document = json.loads(body)
    except ValueError:
        return None
    code = document.get("code") if isinstance(document, dict) else None
    return code if isinstance(code, str) else None


def _origin_of(url: str) -> str:
    """Return the `Origin` that a browser sends with requests of a page at this URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _browser_headers(url: str) -> dict[str, str]:
    """Return the headers that a browser adds; `Sec-Fetch-Site` only on HTTPS and loopback, as browsers do."""
    parts = urlsplit(url)
    headers = {"Content-Type": "application/json", "Origin": _origin_of(url)}
    is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
    return {**headers, "Sec-Fetch-Site": "same-origin"} if is_safe else headers


def check_first_byte(url: str, *, heartbeat_within_s: float | None = None) -> Finding:
    """Check that events of a stream arrive at once, and are not buffered on the way.

    A proxy that buffers (one that compresses streams, a company's web filter) delays notifications, and no header of
    the response shows it. Some compress only for clients that accept it, as browsers do, so this client accepts gzip.
    Some pass the first event and hold back the next one, or end a stream that is quiet for a while, so through a proxy
    the second event decides: a heartbeat.

    `heartbeat_within_s`: how long to wait for the second event; `None`: the first bytes decide.
    """
    link = ask.connection(url)
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    try:
        asked_us = clock.monotonic_us()
        link.request("GET", urlsplit(url).path.rstrip("/") + STREAM_PATH, headers=headers)
        sock: socket.socket = (
            link.sock
        )  # `getresponse` removes it from `link` if the response closes the connection.
        answer = link.getresponse()
        if answer.status != 200:
            return fail("first_byte", "no_stream", url=url, status=answer.status)
        unpack = _unpacker(answer)
        end = b"" if heartbeat_within_s is None else EVENT_END
        begun = _read_until(answer, sock, unpack, end=end, within_s=ask.TIMEOUT_S)
        took_ms = (clock.monotonic_us() - asked_us) / 1000
        if begun and heartbeat_within_s is not None:
            try:
                goes_on = _read_until(answer, sock, unpack, end=b"", within_s=heartbeat_within_s)
            except TimeoutError:
                return fail("first_byte", "later_held_back", url=url, timeout_s=round(heartbeat_within_s))
            except ask.TROUBLE:
                goes_on = False
            if not goes_on:
                lasted_s = (clock.monotonic_us() - asked_us) / 1e6
                return fail("first_byte", "cut", url=url, lasted_s=f"{lasted_s:.1f}")
    except (
        TimeoutError
    ):  # The headers too can be held back: nginx writes them with the first bytes that it compresses.
        return fail("first_byte", "held_back", url=url, timeout_s=round(ask.TIMEOUT_S))
    except ask.TROUBLE as trouble:
        return fail("first_byte", "no_answer", url=url, reason=_reason(trouble))
    except zlib.error:
        return fail("first_byte", "no_answer", url=url, reason="gzip")
    finally:
        link.close()
    if not begun:
        return fail("first_byte", "ended", url=url)
    places = {"url": url, "took_ms": f"{took_ms:.0f}"}
    if took_ms < PROMPT_MS:
        return ok("first_byte", "prompt", **places)
    return warn("first_byte", "slow", **places)


def _unpacker(answer: http.client.HTTPResponse) -> Callable[[bytes], bytes]:
    """Return a function that decompresses the response's pieces, if it is compressed."""
    is_packed = answer.headers.get("Content-Encoding", "identity").lower() != "identity"
    return zlib.decompressobj(GZIP_OR_ZLIB).decompress if is_packed else bytes


def _read_until(
    answer: http.client.HTTPResponse,
    sock: socket.socket,
    unpack: Callable[[bytes], bytes],
    *,
    end: bytes,
    within_s: float,
) -> bool:
    """Read until `end` has arrived, and return true; false if the stream ended before. Raises `TimeoutError`."""
    until_us = clock.monotonic_us() + round(within_s * 1e6)
    text = b""
    while not text or end not in text:
        sock.settimeout(max(0.001, (until_us - clock.monotonic_us()) / 1e6))
        piece = answer.read1(ask.BODY_BYTES_MAX)
        if not piece:
            return False
        text += unpack(piece)
    return True


def check_upgrade(url: str) -> Finding:
    """Check that Socket.IO's handshake works over a WebSocket.

    Where it does not, Socket.IO falls back to polling, which is another transport to measure.
    """
    address = "ws" + url.rstrip("/").removeprefix("http") + _WEBSOCKET_PATH
    context = ask.unchecked() if address.startswith("wss") else None
    try:
        with connect(
            address,
            ssl=context,
            origin=Origin(_origin_of(url)),
            open_timeout=ask.TIMEOUT_S,
            close_timeout=0.2,
            proxy=None,
        ) as websocket:
            hello = websocket.recv(timeout=ask.TIMEOUT_S)
    except (OSError, WebSocketException) as trouble:
        return warn("upgrade", "refused", url=url, reason=_reason(trouble))
    if not str(hello).startswith("0{"):
        return warn("upgrade", "refused", url=url, reason="?")
    return ok("upgrade", "open", url=url)
