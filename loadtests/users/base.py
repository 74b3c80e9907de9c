"""What users of all transports do: connect, listen, come back after a loss."""

from __future__ import annotations

import random
from typing import ClassVar

import gevent
from locust import User, constant, task

from loadtests.session import Session
from loadtests.subscriber import Lost, Subscriber

RECONNECT_S = 0.2
"""How long a user that lost its connection waits before it comes back, as built-in clients do."""

REFUSED_S = (0.5, 1.5)
"""How long one waits whose handshake failed: apart from each other, or a busy server gets them all again at once."""


class PushUser(User):
    """A user that holds one connection and receives. Locust starts and stops it."""

    abstract = True
    wait_time = constant(0)
    transport: ClassVar[str]
    session: ClassVar[Session]
    """Set by whoever starts Locust, before the first user."""

    def on_start(self) -> None:
        """Take a number."""
        self.member = self.session.join()

    @task
    def listen(self) -> None:
        """For as long as the user lives."""
        while True:
            subscriber = Subscriber(self.session, self.member, self.transport)
            try:
                gevent.sleep(self._hold(subscriber))
            finally:
                subscriber.close()

    def _hold(self, subscriber: Subscriber) -> float:
        """One connection from beginning to end; how many seconds to wait before the next."""
        try:
            connect_us = subscriber.open()
        except Lost as error:
            self._report("connect", 0.0, error)
            return random.uniform(*REFUSED_S)
        self._report("connect", connect_us / 1000, None)
        try:
            subscriber.listen()
        except Lost as error:
            self.session.disconnects += 1
            self._report("stream", 0.0, error)
        return RECONNECT_S

    def _report(self, name: str, duration_ms: float, error: Lost | None) -> None:
        """To Locust, whose events are for connects and errors, and never for a notification."""
        self.environment.events.request.fire(
            request_type=self.transport,
            name=name,
            response_time=duration_ms,
            response_length=0,
            exception=error,
            context={},
        )
