"""Abusive connections in a process of their own: `python -m tests.support.abusers --port P --count N`.

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

A client whose connection is closed reconnects within a second or so. The process runs until its standard input ends,
and then prints the outcomes as one line of JSON.
"""

from __future__ import annotations

import argparse
import errno
import functools
import heapq
import itertools
import json
import os
import random
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass

NICE = 19
"""Lowest priority, because they share a core with the processes that measure."""

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


class Abuser:
    """One abusive client over all of its connections."""

    def __init__(self, mob: Mob, kind: str, source: str) -> None:
        self._mob = mob
        self._kind = kind
        self._source = source
        self._sock: socket.socket | None = None
        self._script: Script = silent()
        self._received: bytes | None = None
        """What the script's next step is given."""
        self._unsent = b""
        self._life = 0

    def begin(self) -> None:
        """Connect and start the script."""
        self._life += 1
        self._sock = sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        sock.bind((self._source, 0))
        self._script, self._received, self._unsent = SCRIPTS[self._kind](), None, b""
        self._mob.watch(sock, self)
        if sock.connect_ex(("127.0.0.1", self._mob.port)) not in (0, errno.EINPROGRESS):
            self._end("refused")

    def on_events(self, events: int) -> None:
        """Handle epoll events of the connection."""
        if events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
            self._end("thrown out")
        elif events & select.EPOLLOUT:
            self._continue()
        else:
            self._read()

    def _read(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(65_536)
        except OSError:
            data = b""
        if not data:
            self._end("thrown out")
            return
        if data.startswith(b"HTTP/1.1 "):
            self._mob.counts[f"answered {data[9:12].decode('ascii', 'replace')}"] += 1
        self._received = data
        self._continue()

    def _continue(self) -> None:
        assert self._sock is not None
        while True:
            if self._unsent:
                try:
                    self._unsent = self._unsent[self._sock.send(self._unsent) :]
                except BlockingIOError:
                    self._mob.want(self._sock, select.EPOLLOUT)
                    return
                except OSError:
                    self._end("thrown out")
                    return
                continue
            given, self._received = self._received, None
            step = self._script.send(given)  # type: ignore[arg-type]  # `None` starts it, or follows other steps.
            if isinstance(step, Send):
                self._unsent = step.data
            elif isinstance(step, Receive):
                self._mob.want(self._sock, select.EPOLLIN)
                return
            elif isinstance(step, Leave):
                self._end("left", again_s=0.0)
                return
            else:
                self._mob.want(self._sock, 0)
                self._mob.after(step.seconds, functools.partial(self._wake, self._life))
                return

    def _wake(self, life: int) -> None:
        if life == self._life and self._sock is not None:
            self._continue()

    def _end(self, how: str, *, again_s: float | None = None) -> None:
        assert self._sock is not None
        self._mob.counts[how] += 1
        self._mob.forget(self._sock)
        self._sock.close()
        self._sock = None
        self._life += 1
        self._mob.after(random.uniform(0.5, 1.5) if again_s is None else again_s, self.begin)


class Mob:
    """The event loop of all abusive clients."""

    def __init__(self, port: int, count: int, sources: list[str], only: list[str]) -> None:
        self.port = port
        self.counts: Counter[str] = Counter()
        self._poll = select.epoll()
        self._watched: dict[int, Abuser] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        shares = {name: share for name, (_, share) in KINDS.items()} | dict.fromkeys(ALONE, 1)
        kinds = [kind for kind in only for _ in range(shares[kind])]
        random.Random(1).shuffle(kinds)
        for number in range(count):
            abuser = Abuser(self, kinds[number % len(kinds)], sources[number % len(sources)])
            self.after(number * 0.001, abuser.begin)

    def watch(self, sock: socket.socket, abuser: Abuser) -> None:
        self._watched[sock.fileno()] = abuser
        self._poll.register(sock.fileno(), select.EPOLLOUT)

    def want(self, sock: socket.socket, events: int) -> None:
        self._poll.modify(sock.fileno(), events | select.EPOLLRDHUP)

    def forget(self, sock: socket.socket) -> None:
        del self._watched[sock.fileno()]
        self._poll.unregister(sock.fileno())

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), action))

    def run(self, input_fd: int) -> None:
        """Run until that descriptor ends."""
        self._poll.register(input_fd, select.EPOLLIN)
        while True:
            wait_s = min(0.1, max(0.0, self._timers[0][0] - time.monotonic())) if self._timers else 0.1
            for fd, events in self._poll.poll(wait_s):
                if fd == input_fd:
                    return
                if fd in self._watched:
                    self._watched[fd].on_events(events)
            while self._timers and self._timers[0][0] <= time.monotonic():
                heapq.heappop(self._timers)[2]()


def main() -> int:
    """Run as a process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--sources", required=True, help="addresses of 127.0.0.0/8, with commas between")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between")
    given = parser.parse_args()
    os.nice(NICE)
    mob = Mob(given.port, given.count, given.sources.split(","), given.only.split(","))
    mob.run(sys.stdin.fileno())
    print(json.dumps({**mob.counts, "connected": len(mob._watched)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
