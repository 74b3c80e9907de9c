"""Requests as the service's own page sends them through a proxy: its address and headers, with decoded responses."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Front:
    """The service as browsers reach it."""

    url: str
    """Base URL without a trailing slash."""
    server: RunningServer
    trust: ssl.SSLContext | None = None
    """TLS context for `https:`."""
    upgrades: bool = True
    """True if a WebSocket can get through."""

    @property
    def origin(self) -> str:
        """The `Origin` that browsers send."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def prefix(self) -> str:
        """The path of the service's root, without a trailing slash."""
        return urlsplit(self.url).path

    def link(self) -> http.client.HTTPConnection:
        """Return a connection to the proxy."""
        parts = urlsplit(self.url)
        assert parts.hostname
        if self.trust is not None:
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=PATIENCE_S, context=self.trust
            )
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)

    def headers(self) -> dict[str, str]:
        """Return the headers that Chromium sends with a `fetch` of a page on loopback or over HTTPS."""
        return {"Origin": self.origin, "Sec-Fetch-Site": "same-origin", "Accept-Encoding": "gzip, deflate"}

    def ask(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request as the page does."""
        raw = None if body is None else json.dumps(body).encode()
        given = {**self.headers(), **({"Content-Type": "application/json"} if raw else {}), **(headers or {})}
        with contextlib.closing(self.link()) as link:
            link.request(method, self.prefix + path, body=raw, headers=given)
            answer = link.getresponse()
            body_read = answer.read()
            if answer.headers["Content-Encoding"]:
                body_read = zlib.decompress(body_read, 32 + zlib.MAX_WBITS)
            return Reply(answer.status, answer.headers, body_read)

    @contextlib.contextmanager
    def stream(self, path: str = "/events", **headers: str) -> Iterator[Stream]:
        """Open an event stream as an EventSource does."""
        with contextlib.closing(self.link()) as link:
            link.request("GET", self.prefix + path, headers={**self.headers(), **headers})
            answer = link.getresponse()
            assert answer.status == 200, answer.read()
            yield Stream(answer)


class Stream:
    """Text of a stream as it arrives. The connection's timeout ends the wait for what a proxy holds back."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        is_packed = bool(answer.headers["Content-Encoding"])
        self._unpack = zlib.decompressobj(32 + zlib.MAX_WBITS).decompress if is_packed else bytes
        self.text = ""

    def until(self, wanted: str) -> str:
        """Wait until this text has arrived, and return everything received."""
        while wanted not in self.text:
            piece = self._answer.read1(65_536)
            assert piece, self.text
            self.text += self._unpack(piece).decode()
        return self.text

    def last_id(self) -> str:
        """Return the last event id, as an EventSource tracks it."""
        return [line[4:] for line in self.text.splitlines() if line.startswith("id: ")][-1]
