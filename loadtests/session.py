"""State that all users of one process share: the server, the expected notifications, and those that have arrived.

    begin -> users join, dial, are accepted -> settled -> expect -> keep ... keep -> complete
             |<-- losses here: `broken_before` ------->|<--- losses here: `disconnects` --->|

A broadcast sends the same bytes to all users of a transport, so each piece is decoded once and cached (`known`). Failed
handshakes are counted with their reasons, and all attempts are counted, so that "0 errors" without attempts shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from app.core.client import Subscription
from loadtests.gaps import GapDetector
from loadtests.recording import REPLAYED, SHARED, Recording

USER_AGENT = "siar-locust/1 (simulated)"

KNOWN_MAX = 256
"""Most cached pieces; some dozens are in use at a time."""


class Mark(NamedTuple):
    """One notification of the expected trial."""

    seq: int
    offset: int


class DecodedPiece(NamedTuple):
    """Content of one piece of a stream."""

    marks: tuple[Mark, ...]
    notifications: int
    """Number of all notifications in it, of any trial."""
    last_id: str | None
    is_shared: bool
    """True if it holds several different notifications, which then share the kernel's stamp."""


NOTHING = DecodedPiece((), 0, None, is_shared=False)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The notifications of a trial that users wait for."""

    run: str | None
    """Run id; `None` expects all notifications from `first_offset` on, for a neutral source without trials."""
    trial: int
    count: int
    first_offset: int = 0

    def mark(self, notification: Mapping[str, Any]) -> Mark | None:
        """Return the notification's number in the trial; `None` if it belongs to no trial or to another."""
        offset = notification.get("offset")
        if not isinstance(offset, int):
            return None
        if self.run is None:
            return Mark(offset - self.first_offset, offset) if offset >= self.first_offset else None
        data = notification.get("data")
        trial = data.get("trial") if isinstance(data, dict) else None
        if not isinstance(trial, dict) or (trial.get("run"), trial.get("trial")) != (self.run, self.trial):
            return None
        seq = trial.get("seq")
        return Mark(seq, offset) if isinstance(seq, int) and seq >= 0 else None


@dataclass(slots=True)
class Member:
    """One user's state in the session."""

    client: int
    seen: set[int] = field(default_factory=set)
    last_event_id: str | None = None
    was_accepted: bool = False
    live: bool = False
    is_awaited: bool = False
    """True if it was connected when the trial began, or reconnected before the end; completion then needs it."""
    replay_until: int = -1
    """Last offset that is a replay on the present connection."""
    gaps: GapDetector = field(default_factory=GapDetector)
    """Detector for the notifications that were passed to `on_notification`."""


@dataclass(slots=True)
class Session:
    """The users of one process, and what they expect and record."""

    url: str = ""
    topics: tuple[str, ...] = ()
    fanout: str | None = None
    on_settled: Callable[[], None] = lambda: None
    """Called when every user has been accepted."""
    on_complete: Callable[[], None] = lambda: None
    """Called once, when every user that was connected at `expect`, or reconnected since, has all notifications."""
    on_notification: Callable[[Member, str, int, Mapping[str, Any], int | None], None] | None = None
    """Called with each notification (user, transport, read_ns, notification, kernel_ns), for Locust's own pages."""
    kernel_offset_ns: int = 0
    """CLOCK_MONOTONIC - CLOCK_REALTIME, updated by the owner."""
    members: list[Member] = field(default_factory=list)
    recording: Recording = field(default_factory=Recording)
    known: dict[bytes, DecodedPiece] = field(default_factory=dict)
    """Cache of decoded pieces by their bytes."""
    attempts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    connect_us: list[int] = field(default_factory=list)
    disconnects: int = 0
    """Number of connections that broke since `expect`."""
    broken_before: int = 0
    """Number of connections that broke between `begin` and `expect`, while others connected or all were idle."""
    malformed: int = 0
    """Number of connections closed since `expect` because the server violated the protocol."""
    _expected: Expectation | None = None
    _numbers: list[int] | None = None
    _settled: int = 0
    _waiting: int = 0

    def begin(
        self, url: str, clients: list[int], *, topics: tuple[str, ...] = (), fanout: str | None = None
    ) -> None:
        """Reset the session for new users, which take the numbers `clients` in order."""
        self.url, self.topics, self.fanout = url.rstrip("/"), topics, fanout
        self._numbers = list(reversed(clients))
        self.members, self.known, self._settled = [], {}, 0
        self.attempts = self.disconnects = self.broken_before = self.malformed = 0
        self.failures, self.connect_us = Counter(), []
        self._expected, self._waiting = None, 0

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or (443 if self.is_encrypted else 80)

    @property
    def is_encrypted(self) -> bool:
        """True if the server is reached over TLS."""
        return self.url.startswith("https:")

    @property
    def connected(self) -> int:
        """Number of users that are connected now."""
        return sum(each.live for each in self.members)

    def join(self) -> Member:
        """Add a user; after the numbers of `begin` are used up, it gets the next free one."""
        number = self._numbers.pop() if self._numbers else len(self.members)
        member = Member(number)
        self.members.append(member)
        return member

    def subscription(self, member: Member) -> Subscription:
        """Return the subscription of a user's next connection."""
        return Subscription(self.url, self.topics, member.last_event_id, self.fanout, USER_AGENT)

    def accepted(self, member: Member, position: str, offset: int, *, connect_us: int) -> None:
        """Record that the server has accepted a user at `position`."""
        member.live = True
        # A user that is accepted for the first time during a trial has missed its beginning and is not awaited.
        if self._waiting > 0 and member.was_accepted and not member.is_awaited:
            member.is_awaited = True
            self._waiting += 1
        self.connect_us.append(connect_us)
        member.replay_until = offset if member.last_event_id is not None else -1
        if member.last_event_id is None:
            member.last_event_id = position
        if not member.was_accepted:
            member.was_accepted = True
            self._settled += 1
            if self._numbers is not None and not self._numbers and self._settled == len(self.members):
                self.on_settled()

    def expect(self, expectation: Expectation) -> int:
        """Record arrivals of a trial from now on; return the number of connected users, which are awaited."""
        self._expected = expectation
        self.recording, self.known = Recording(), {}
        for member in self.members:
            member.seen, member.is_awaited = set(), member.live
        self.broken_before += self.disconnects
        self.disconnects = self.malformed = 0
        self._waiting = self.connected
        return self._waiting

    def piece_of(self, notifications: list[dict[str, Any]]) -> DecodedPiece:
        """Summarise decoded notifications for the expected trial."""
        expected = self._expected
        marks = [] if expected is None else [expected.mark(each) for each in notifications]
        last_id = notifications[-1].get("id") if notifications else None
        return DecodedPiece(
            tuple(each for each in marks if each is not None),
            len(notifications),
            last_id if isinstance(last_id, str) else None,
            is_shared=len({str(each.get("id")) for each in notifications}) > 1,
        )

    def remember(self, data: bytes, piece: DecodedPiece) -> None:
        """Cache a piece, so that other users that read the same bytes need not decode them."""
        if len(self.known) >= KNOWN_MAX:
            self.known.clear()
        self.known[data] = piece

    def keep(self, member: Member, piece: DecodedPiece, read_ns: int, kernel_ns: int | None) -> None:
        """Record the notifications that one read brought to one user."""
        if piece.last_id is not None:
            member.last_event_id = piece.last_id
        shared = SHARED if piece.is_shared else 0
        stamp_ns = 0 if kernel_ns is None else kernel_ns + self.kernel_offset_ns
        for seq, offset in piece.marks:
            replayed = REPLAYED if offset <= member.replay_until else 0
            self.recording.add(member.client, seq, offset, read_ns, stamp_ns, shared | replayed)
            if seq not in member.seen:
                member.seen.add(seq)
                if self._expected is not None and len(member.seen) == self._expected.count:
                    self._has_all(member)

    def _has_all(self, member: Member) -> None:
        if member.is_awaited:  # Other users do not count towards completion.
            self._waiting -= 1
            if self._waiting == 0:
                self.on_complete()
