"""Clients that always reconnect, as browsers do, and a publisher that repeats what was not answered."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from websockets.exceptions import WebSocketException

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer
from tests.support.streams import socketio, sse

COME_BACK_AFTER_S = 0.05
"""Much sooner than a real client, so that tests meet the server right after its start."""

BROKEN = (AssertionError, OSError, http.client.HTTPException, WebSocketException, EOFError, ValueError)
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
        self.last_id = ""
        self.leaves = threading.Event()

    def run(self) -> None:
        """Run until `leaves` is set."""
        while not self.leaves.is_set():
            with contextlib.suppress(*BROKEN):
                if self.transport == "sse":
                    self._follow_sse()
                else:
                    self._follow_socketio()
            time.sleep(COME_BACK_AFTER_S)

    def _follow_sse(self) -> None:
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        with sse(self.port, headers=headers, host=self.host) as stream:
            self.last_id = self.last_id or stream.last_event_id
            self.connections += 1
            while not self.leaves.is_set():
                event = stream.next_event()
                self._take(event.type, json.loads(event.data))

    def _follow_socketio(self) -> None:
        auth = {"last_event_id": self.last_id} if self.last_id else None
        with socketio(self.port, auth, host=self.host) as channel:
            self.last_id = self.last_id or channel.connect["position"]
            self.connections += 1
            while not self.leaves.is_set():
                self._take(*channel.next_event())

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
