"""Scripts of abusive clients: what each kind sends on one connection, step by step.

silent      connects and sends nothing                asker      requests again as soon as it was answered
slow head   a byte of a request's head a second       hoarder    requests all of history and does not read it
slow body   a byte of a body a second                 guesser    publishes with wrong tokens
deaf        subscribes and does not read              shouter    a WebSocket, and frames without end
oversize    a header of 100 KB                        splitter   a WebSocket, and fragments without end
endless body    a body without end, as fast as possible, where none is read
lister      lists of preferences as long as a head may be
baker       cookies as many as a head may have, each to be unquoted
querier     a query of as many fields as an address may have
packer      polls; joins and leaves as often as one POST may say, in a new session each time
joiner      a WebSocket; joins with an old position and leaves, as often as a session may
resumer     event streams with an old position and a topic that matches nothing, one after another
pinger      a WebSocket; as many ping frames as a session may
talker      a WebSocket; events of nested lists as long as a packet may be
poster      reports of deliveries as long as a body may be
replayer    polls; joins with an old position, so that all of history is framed for it, in a new session each time

`abusers.py` runs them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from dataclasses import dataclass

FOR_EVER_S = 1e6


@dataclass(frozen=True, slots=True)
class Send:
    """Step of a script: send these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Step of a script: do nothing for a time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Receive:
    """Step of a script: wait for data, which is the step's value."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Step of a script: close the connection, and begin again on another."""


Script = Generator[Send | Wait | Receive | Leave, bytes, None]

HEAD = b"Host: localhost\r\n"


def silent() -> Script:
    yield Wait(FOR_EVER_S)


def slow_head() -> Script:
    yield Send(b"GET / HTTP/1.1\r\n" + HEAD + b"X-Slow: ")
    while True:
        yield Wait(1.0)
        yield Send(b"a")


def slow_body() -> Script:
    yield Send(b"POST /api/deliveries HTTP/1.1\r\n" + HEAD + b"Content-Length: 30000\r\n\r\n")
    while True:
        yield Wait(1.0)
        yield Send(b" ")


def deaf() -> Script:
    yield Send(b"GET /events HTTP/1.1\r\n" + HEAD + b"\r\n")
    yield Wait(FOR_EVER_S)


def asker() -> Script:
    for path in itertools.cycle(
        (b"/healthz", b"/socket.io/?EIO=4&transport=polling", b"/", b"/no/such/page")
    ):
        yield Send(b"GET " + path + b" HTTP/1.1\r\n" + HEAD + b"\r\n")
        yield Receive()


def hoarder() -> Script:
    yield Send(b"GET /api/notifications?after=0&limit=1000 HTTP/1.1\r\n" + HEAD + b"\r\n")
    yield Wait(FOR_EVER_S)


def guesser() -> Script:
    for number in itertools.count():
        token = b"Authorization: Bearer guess%d\r\n" % number
        body = b'{"title": "t", "body": ""}'
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        yield Send(b"POST /api/notifications HTTP/1.1\r\n" + HEAD + token + length + body)
        yield Receive()


OPEN_WEBSOCKET = (
    b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n" + HEAD + b"Upgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def shouter() -> Script:
    yield Send(OPEN_WEBSOCKET)
    yield Receive()
    while True:
        yield Send((b"\x81\x81\0\0\0\0" + b"3" + b"\x89\x80\0\0\0\0") * 20)
        yield Wait(0.01)


def splitter() -> Script:
    yield Send(OPEN_WEBSOCKET)
    yield Receive()
    yield Send(b"\x01\x80\0\0\0\0")
    while True:
        yield Send(b"\0\x80\0\0\0\0" * 40)
        yield Wait(0.01)


def endless_body() -> Script:
    yield Send(b"GET /healthz HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000000000000\r\n\r\n")
    while True:
        yield Send(bytes(65_536))
        yield Wait(0.0)  # The other clients run in the same thread.


def oversize() -> Script:
    yield Send(b"GET / HTTP/1.1\r\n" + HEAD + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n")
    yield Receive()
    yield Wait(FOR_EVER_S)


HEADER_BYTES = 8_000
"""Length of a header, of which a head may have a little more than four (`header_bytes_max`, request_parser.py)."""


def longest(item: bytes, separator: bytes = b",", *, size: int = HEADER_BYTES) -> bytes:
    """Return as many items as `size` bytes have room for."""
    return separator.join([item] * (size // len(item + separator)))


def lister() -> Script:
    lists = b"Accept-Language: " + longest(b"a") + b"\r\n"
    for path in itertools.cycle((b"/", b"/no/such/page")):
        yield Send(b"GET " + path + b" HTTP/1.1\r\n" + HEAD + lists * 3 + b"\r\n")
        yield Receive()


def baker() -> Script:
    cookies = b"Cookie: " + longest(b'a="\\"\\""', b"; ") + b"\r\n"
    while True:
        yield Send(b"HEAD /events HTTP/1.1\r\n" + HEAD + cookies * 3 + b"\r\n")
        yield Receive()


def querier() -> Script:
    query = b"&".join([b"topic=a"] * 490)
    for path in itertools.cycle((b"/events?", b"/?", b"/socket.io/?EIO=4&transport=polling&")):
        yield Send(b"GET " + path + query + b" HTTP/1.1\r\n" + HEAD + b"\r\n")
        yield Receive()


POLLING = b"/socket.io/?EIO=4&transport=polling"

JOIN = b'40{"topics":["zzz"],"last_event_id":"00000000.0"}'
"""A position of an unknown history: all of ours is looked at. Nothing matches the topic."""


def packer() -> Script:
    body = b"\x1e".join([JOIN, b"41"] * 999)
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    while True:
        path = yield from open_session()
        yield Send(b"POST " + path + b" HTTP/1.1\r\n" + HEAD + length + body)
        yield Receive()


def open_session() -> Generator[Send | Wait | Receive | Leave, bytes, bytes]:
    """Step of a script: open a session by polling, as soon as there is room for one; return its path."""
    while True:
        yield Send(b"GET " + POLLING + b" HTTP/1.1\r\n" + HEAD + b"\r\n")
        answer = yield Receive()
        _, found, rest = answer.partition(b'"sid":"')
        if found:
            return POLLING + b"&sid=" + rest.partition(b'"')[0]
        yield Wait(1.0)


def joiner() -> Script:
    yield Send(OPEN_WEBSOCKET)
    yield Receive()
    while True:
        yield Send((frame(JOIN) + frame(b"41")) * 10)
        yield Wait(0.1)


def pinger() -> Script:
    yield Send(OPEN_WEBSOCKET)
    yield Receive()
    while True:
        yield Send(b"\x89\x80\0\0\0\0" * 19)
        yield Wait(0.1)


PACKET_BYTES = 65_000
"""Length of a packet or body, of which the server takes 64 KB (`packet_bytes_max`)."""


def talker() -> Script:
    text = b'42["x",' + longest(b"[[[]]]", size=PACKET_BYTES) + b"]"
    yield Send(OPEN_WEBSOCKET)
    yield Receive()
    yield Send(frame(b"40"))
    yield Receive()
    while True:
        yield Send(frame(text))
        yield Wait(0.1)


def poster() -> Script:
    body = b"[" + longest(b"[[[]]]", size=PACKET_BYTES) + b"]"
    head = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    for path in itertools.cycle((b"/api/deliveries", b"/api/notifications", b"/api/trials")):
        yield Send(b"POST " + path + b" HTTP/1.1\r\n" + HEAD + head + body)
        yield Receive()


def replayer() -> Script:
    body = b'40{"last_event_id":"00000000.0"}'
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    path = yield from open_session()
    yield Send(b"POST " + path + b" HTTP/1.1\r\n" + HEAD + length + body)
    yield Receive()
    yield Send(b"GET " + path + b" HTTP/1.1\r\n" + HEAD + b"\r\n")
    yield Receive()
    yield Leave()


def frame(text: bytes) -> bytes:
    """Return a masked WebSocket text frame, whose mask changes nothing."""
    size = bytes((0x80 | len(text),)) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2)
    return b"\x81" + size + bytes(4) + text


def resumer() -> Script:
    yield Send(b"GET /events?topic=zzz&last_event_id=00000000.0 HTTP/1.1\r\n" + HEAD + b"\r\n")
    yield Receive()
    yield Leave()


KINDS: dict[str, tuple[Callable[[], Script], int]] = {
    "silent": (silent, 10),
    "slow head": (slow_head, 10),
    "slow body": (slow_body, 15),
    "deaf": (deaf, 15),
    "asker": (asker, 15),
    "hoarder": (hoarder, 10),
    "guesser": (guesser, 5),
    "shouter": (shouter, 5),
    "oversize": (oversize, 5),
    "splitter": (splitter, 5),
    "endless body": (endless_body, 5),
}
"""Script of each kind, and its share of a hundred clients."""

ALONE: dict[str, Callable[[], Script]] = {
    "lister": lister,
    "baker": baker,
    "querier": querier,
    "packer": packer,
    "joiner": joiner,
    "resumer": resumer,
    "pinger": pinger,
    "talker": talker,
    "poster": poster,
    "replayer": replayer,
}
"""Kinds that are measured one at a time: each is one way to make the server work, at its largest."""

SCRIPTS = {name: script for name, (script, _) in KINDS.items()} | ALONE
