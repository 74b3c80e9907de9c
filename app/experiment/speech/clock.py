"""A built-in client of the clock channel."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from app.core.errors import MalformedFrame
from app.core.frames import (
    FrameDecoder,
    Opcode,
    check_handshake,
    encode_frame,
    handshake_key,
    handshake_request,
)
from app.core.http_response import ResponseDecoder
from app.experiment.api import USER_AGENT
from app.experiment.speech.base import json_object


class ClockSpeech:
    """The clock channel: a WebSocket that answers `{"probe": n}` with two stamps of the server."""

    def __init__(self, url: str) -> None:
        self.ready = False
        self.outgoing = bytearray()
        self._url = url
        self._key = handshake_key(os.urandom(16))
        self._response = ResponseDecoder()
        self._frames = FrameDecoder()

    def opening(self) -> bytes:
        """The WebSocket handshake."""
        host = urlsplit(self._url).netloc
        return handshake_request(host=host, target="/", key=self._key, headers={"User-Agent": USER_AGENT})

    def question(self, number: int) -> bytes:
        """A probe, to be sent at once: its stamp is taken just before."""
        return encode_frame(Opcode.TEXT, b'{"probe":%d}' % number, mask=os.urandom(4))

    def hear(self, data: bytes) -> list[dict[str, Any]]:
        """Answers: `probe`, `received_us`, `sent_us`, `timebase`."""
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
