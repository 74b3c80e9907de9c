"""Clients that always reconnect, as browsers do, and a publisher that repeats what was not answered."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from app.core.errors import MalformedFrame
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer
from tests.support.subscriber import EVENT_PROTOCOLS, subscribed

COME_BACK_AFTER_S = 0.05
"""Much sooner than a real client, so that tests meet the server right after its start."""

BROKEN = (AssertionError, OSError, http.client.HTTPException, MalformedFrame, ValueError)
"""Exceptions with which a connection may end."""


def wait_for(condition: Callable[[], bool], what: Callable[[], object], *, times: int = 1) -> None:
    """Wait until the condition holds; otherwise fail with `what`, after `times` the usual timeout."""
    deadline_s = time.monotonic() + times * PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, what()
        time.sleep(0.01)


class Follower(threading.Thread):
    """Receives on one transport, over any number of connections."""

    def __init__(self, port: int, transport: str, *, host: str = "127.0.0.1") -> None:
        super().__init__(name=f"follower-{transport}", daemon=True)
        self.port = port
        self.host = host
        self.transport = transport
        self.titles: list[str] = []
        self.gaps: list[dict[str, Any]] = []
        self.states: list[str] = []
        """Announced states of the service, in order."""
        self.connections = 0
        self.last_id: str | None = None
        self.leaves = threading.Event()

    def run(self) -> None:
        """Run until `leaves` is set."""
        while not self.leaves.is_set():
            with contextlib.suppress(*BROKEN):
                self._follow()
            time.sleep(COME_BACK_AFTER_S)

    def _follow(self) -> None:
        make = EVENT_PROTOCOLS[self.transport]
        with subscribed(self.port, make, host=self.host, last_event_id=self.last_id) as subscriber:
            self.last_id = self.last_id or subscriber.protocol.position
            self.connections += 1
            is_open = True
            while is_open and not self.leaves.is_set():
                self._take_events(subscriber.protocol.events)
                is_open = subscriber.receive_some()
            self._take_events(subscriber.protocol.events)

    def _take_events(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        for name, argument in events:
            self._take(name, argument)
        events.clear()

    def _take(self, event: str, argument: dict[str, Any]) -> None:
        if event == "service":
            self.states.append(argument["state"])
            return
        self.last_id = argument["id"]
        if event == "gap":
            self.gaps.append(argument)
        else:
            self.titles.append(argument["title"])


class Publisher(threading.Thread):
    """Publishes "0", "1", "2", ... and repeats each with its idempotency key until it is answered."""

    def __init__(self, server: RunningServer, count: int, *, keys: str = "key") -> None:
        super().__init__(name="publisher", daemon=True)
        self._server = server
        self._count = count
        self._keys = keys
        self.answered: list[dict[str, Any]] = []
        self.gives_up = threading.Event()

    def has_answers(self, count: int) -> Callable[[], bool]:
        """Return the condition that so many were answered."""
        return lambda: len(self.answered) >= count

    def run(self) -> None:
        """Publish all notifications."""
        for number in range(self._count):
            body = {"title": str(number), "body": "", "idempotency_key": f"{self._keys}-{number}"}
            while not self.gives_up.is_set():
                with contextlib.suppress(*BROKEN):
                    status, answer = self._server.request("POST", "/api/notifications", body)
                    if status in (200, 201):
                        self.answered.append(answer)
                        break
                time.sleep(COME_BACK_AFTER_S)


@contextlib.contextmanager
def following(port: int, transports: tuple[str, ...]) -> Iterator[list[Follower]]:
    """Run a connected follower for each transport."""
    followers = [Follower(port, transport) for transport in transports]
    for follower in followers:
        follower.start()
    try:
        wait_for(lambda: all(each.connections for each in followers), lambda: "a follower did not connect")
        yield followers
    finally:
        for follower in followers:
            follower.leaves.set()
