"""What sessions, upgrades and the timer need of each other and of the server, so that none imports another."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from engineio.packet import Packet

from app.server.transports.socket_io.engine.limits import IncomingLimits


class Upgrade(Protocol):
    """A WebSocket on its way into a session."""

    is_probed: bool

    def expire(self) -> None:
        """End it: the time for an upgrade is over."""
        ...

    def abandon(self) -> None:
        """End it: its session has ended."""
        ...


class TimedSession(Protocol):
    """A session as the timer sees it."""

    has_joined: bool
    closing: bool
    pong_due_us: int

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

    def on_upgrade(self, entry: Upgrade) -> None:
        """Bound the time of an upgrade."""
        ...


class SessionHost(Protocol):
    """The server of sessions, `engineio.Server` included."""

    lock: threading.Lock
    limits: IncomingLimits
    max_http_buffer_size: int
    ping_interval: float
    ping_timeout: float
    reason: Any
    """The library's names for why a session ended."""

    @property
    def timer(self) -> Timer:
        """The timer of all its sessions."""
        ...

    def opening(self, session: Any, *, upgrades: list[str]) -> Packet:
        """Return the open packet."""
        ...

    def forget(self, session: Any, *, lingers: bool, reason: str) -> None:
        """Forget a session that has ended."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, as the library does in the present mode."""
        ...

    def left(self, sid: str) -> None:
        """Keep nothing for an ended session any more."""
        ...

    def start_background_task(self, target: Any, *args: Any) -> Any:
        """Run a function in the background, as the library does in the present mode."""
        ...

    def create_queue(self, *args: Any) -> Any:
        """Make a queue, as the library does in the present mode."""
        ...

    def _trigger_event(self, event: str, *args: Any, run_async: bool) -> Any: ...
