"""Abusive connections in a process of their own: `python -m tests.support.abusers --port P --count N`.

Their scripts are in abuse_scripts.py. A client whose connection is closed reconnects within a second or so. The process runs
until its standard input ends, and then prints the outcomes as one line of JSON.
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
from collections.abc import Callable

from tests.support.abuse_scripts import ALONE, KINDS, SCRIPTS, Leave, Receive, Script, Send, silent

NICE = 19
"""Lowest priority, because they share a core with the processes that measure."""


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
