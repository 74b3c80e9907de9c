"""Protocols that sessions, upgrades and the timer require of each other and of the server; they avoid import cycles."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from engineio.packet import Packet

from app.server.transports.socket_io.engine.limits import IncomingLimits


class Upgrade(Protocol):
    """A WebSocket's attempt to take the place of polling."""

    is_probed: bool

    def expire(self) -> None:
        """End the upgrade, because its time is over."""
        ...

    def abandon(self) -> None:
        """End the upgrade, because its session has ended."""
        ...


class TimedSession(Protocol):
    """A session as the timer sees it."""

    has_joined: bool
    pong_due_us: int

    @property
    def closing(self) -> bool:
        """Return whether the session is ending."""
        ...

    def send(self, pkt: Packet) -> None:
        """Send a packet."""
        ...

    def close(self, *, reason: str) -> None:
        """End the session."""
        ...


class Timer(Protocol):
    """The deadlines of a server's sessions."""

    def on_pong(self, session: TimedSession) -> None:
        """Schedule the next ping."""
        ...

    def on_upgrade(self, upgrade: Upgrade) -> None:
        """Limit the duration of an upgrade."""
        ...


class SessionHost(Protocol):
    """The server as its sessions see it, including what it inherits from `engineio.Server`."""

    lock: threading.Lock
    limits: IncomingLimits
    max_http_buffer_size: int
    ping_interval: float
    ping_timeout: float
    reason: Any
    """The library's names for the reasons why a session ended."""

    @property
    def timer(self) -> Timer:
        """Return the timer of all sessions."""
        ...

    def opening(self, session: Any, *, upgrades: list[str]) -> Packet:
        """Return the open packet."""
        ...

    def forget(self, session: Any, *, lingers: bool, reason: str) -> None:
        """Remove a session that has ended."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep in the way of the current concurrency mode."""
        ...

    def left(self, sid: str) -> None:
        """Drop what is kept for an ended session."""
        ...

    def start_background_task(self, target: Any, *args: Any) -> Any:
        """Run a function in the background, in the way of the current concurrency mode."""
        ...

    def create_queue(self, *args: Any) -> Any:
        """Create a queue that suits the current concurrency mode."""
        ...

    def _trigger_event(self, event: str, *args: Any, run_async: bool) -> Any: ...
