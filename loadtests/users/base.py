"""Base of all users: connect, receive, and reconnect after a loss."""

from __future__ import annotations

import random
from typing import ClassVar

import gevent
from locust import User, constant, task

from loadtests.session import Session
from loadtests.subscriber import Lost, Subscriber

RECONNECT_S = 0.2
"""Time that a user waits after a lost connection before it reconnects, the same as for built-in clients."""

REFUSED_S = (0.5, 1.5)
"""Range of the random wait after a failed handshake, so that users do not return to a busy server all at once."""


class PushUser(User):
    """User that holds one connection and receives. Locust starts and stops it."""

    abstract = True
    wait_time = constant(0)
    transport: ClassVar[str]
    session: ClassVar[Session]
    """Shared session, set before Locust starts the first user."""

    def on_start(self) -> None:
        """Join the session."""
        self.member = self.session.join()

    @task
    def listen(self) -> None:
        """Hold one connection after another for as long as the user lives."""
        while True:
            subscriber = Subscriber(self.session, self.member, self.transport)
            try:
                gevent.sleep(self._hold(subscriber))
            finally:
                subscriber.close()

    def _hold(self, subscriber: Subscriber) -> float:
        """Run one connection to its end; return the time to wait before the next, seconds."""
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
        """Fire Locust's event for a connect or an error; notifications fire none."""
        self.environment.events.request.fire(
            request_type=self.transport,
            name=name,
            response_time=duration_ms,
            response_length=0,
            exception=error,
            context={},
        )
