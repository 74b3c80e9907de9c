"""Clients for the server's time: the clock channel, and `GET /api/clock` where there is no such channel."""

from __future__ import annotations

import os
from typing import Any, Protocol
from urllib.parse import urlsplit

from app.core.client.base import json_object
from app.core.errors import MalformedFrame
from app.core.protocol.http_response import ResponseDecoder
from app.core.protocol.websocket import (
    FrameDecoder,
    Opcode,
    check_handshake,
    encode_frame,
    handshake_key,
    handshake_request,
)
from app.core.wire import USER_AGENT


class Clock(Protocol):
    """A client that asks for the server's time, one probe per question."""

    ready: bool
    """True once questions may be sent."""
    outgoing: bytearray
    """Bytes to send in addition to questions."""
    is_numbered: bool
    """True if an answer carries its question's number. Otherwise only one question may be outstanding."""

    def opening(self) -> bytes:
        """Return the first bytes to send."""
        ...

    def question(self, number: int) -> bytes:
        """Return the bytes of a probe. The caller takes the stamp t1 and sends them at once."""
        ...

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the answers that `data` completes: `probe`, `received_us`, `sent_us`, `timebase`.

        Raises `MalformedFrame`.
        """
        ...


class ClockProtocol:
    """Client of the clock channel, a WebSocket that answers `{"probe": n}` with two stamps of the server."""

    is_numbered = True

    def __init__(self, url: str) -> None:
        self.ready = False
        self.outgoing = bytearray()
        self._url = url
        self._key = handshake_key(os.urandom(16))
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()

    def opening(self) -> bytes:
        """Return the WebSocket handshake."""
        host = urlsplit(self._url).netloc
        return handshake_request(host=host, target="/", key=self._key, headers={"User-Agent": USER_AGENT})

    def question(self, number: int) -> bytes:
        """Return the bytes of a probe. The caller takes the stamp t1 and sends them at once."""
        return encode_frame(Opcode.TEXT, b'{"probe":%d}' % number, mask=os.urandom(4))

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the answers that `data` completes: `probe`, `received_us`, `sent_us`, `timebase`."""
        body = self._response.feed(data)
        if not self.ready:
            if self._response.head is None:
                return []
            check_handshake(self._response.head, self._key)
            self.ready = True
        answers = []
        for message in self._frames.feed(body):
            if message.opcode == Opcode.TEXT:
                answers.append(json_object(message.text))
            elif message.opcode == Opcode.PING:
                self.outgoing += encode_frame(Opcode.PONG, message.payload, mask=os.urandom(4))
            elif message.opcode == Opcode.CLOSE:
                raise MalformedFrame("The clock channel was closed.")
        return answers


class HttpClockProtocol:
    """Client of `GET /api/clock` on one kept-alive connection: slower, and answered by the measured server itself."""

    is_numbered = False

    def __init__(self, url: str) -> None:
        self.ready = False
        self.outgoing = bytearray()
        self._request = (
            f"GET /api/clock HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nUser-Agent: {USER_AGENT}\r\n\r\n"
        ).encode()
        self._response = ResponseDecoder()
        self._body = bytearray()
        self._number = -1

    def opening(self) -> bytes:
        """Return a first request; its answer makes the client ready."""
        return self._request

    def question(self, number: int) -> bytes:
        """Return the request. The next one may be sent only after its answer."""
        self._number = number
        return self._request

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the answer once it is complete."""
        self._body += self._response.feed(data)
        head = self._response.head
        if head is not None and head.status != 200:
            raise MalformedFrame(f"GET /api/clock was answered with {head.status}.")
        if not self._response.finished:
            return []
        answer = json_object(self._body.decode("utf-8", "replace"))
        self._response, self._body = ResponseDecoder(), bytearray()
        if not self.ready:
            self.ready = True
            return []
        return [{**answer, "probe": self._number}]
