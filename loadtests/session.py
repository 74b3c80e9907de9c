"""What all users of one process share: where they connect, what they wait for, what they have seen.

    begin -> users take numbers, dial, are let in -> settled -> expect -> keep ... keep -> complete
             |<-- what breaks here: `broken_before` --->|<------ and here: `disconnects` ---->|

A broadcast gives all users of a transport the same bytes, so each piece is decoded once and known from then on
(`known`). A handshake that failed is counted with its reason and its attempt: never "0 errors" for want of trying.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from app.core.client import Subscription
from loadtests.order import Order
from loadtests.recording import REPLAYED, SHARED, Recording

USER_AGENT = "siar-locust/1 (simulated)"

KNOWN_MAX = 256
"""Pieces that are remembered: some dozens are going round at a time."""


class Mark(NamedTuple):
    """One notification of the trial that is waited for."""

    seq: int
    offset: int


class Heard(NamedTuple):
    """What one piece of a stream holds."""

    marks: tuple[Mark, ...]
    notifications: int
    """All that are in it, of any trial."""
    last_id: str | None
    is_shared: bool
    """Whether these are several: the kernel's stamp is then no one's own. One that came twice is still one."""


NOTHING = Heard((), 0, None, is_shared=False)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is waited for."""

    run: str | None
    """`None`: whatever comes, counted from `first_offset` on. A neutral source knows no trials."""
    trial: int
    count: int
    first_offset: int = 0

    def mark(self, notification: Mapping[str, Any]) -> Mark | None:
        """The notification's place in the trial; `None` when it belongs to none or another."""
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
    """One user's place in the session."""

    client: int
    seen: set[int] = field(default_factory=set)
    last_event_id: str | None = None
    was_let_in: bool = False
    live: bool = False
    is_awaited: bool = False
    """Whether it was connected when the trial began, or came back before the end: the trial is not complete without it."""
    replay_until: int = -1
    """Offsets up to this one are replays on the present connection."""
    order: Order = field(default_factory=Order)
    """Of the notifications that `on_notification` heard of."""


@dataclass(slots=True)
class Session:
    """One process's users of one moment."""

    url: str = ""
    topics: tuple[str, ...] = ()
    fanout: str | None = None
    on_settled: Callable[[], None] = lambda: None
    """Every user has been let in."""
    on_complete: Callable[[], None] = lambda: None
    """Every user that was connected at `expect`, or came back since, has everything; said once."""
    on_notification: Callable[[Member, str, int, Mapping[str, Any], int | None], None] | None = None
    """Hears of each one (user, transport, read_ns, notification, kernel_ns): for Locust's own pages."""
    kernel_offset_ns: int = 0
    """Kept fresh by the owner."""
    members: list[Member] = field(default_factory=list)
    recording: Recording = field(default_factory=Recording)
    known: dict[bytes, Heard] = field(default_factory=dict)
    attempts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    connect_us: list[int] = field(default_factory=list)
    disconnects: int = 0
    """Connections that broke since `expect`."""
    broken_before: int = 0
    """Those that broke between `begin` and `expect`: while others connected, or while all were idle."""
    malformed: int = 0
    """Connections given up because what came broke the protocol, since `expect`."""
    _expected: Expectation | None = None
    _numbers: list[int] | None = None
    _settled: int = 0
    _waiting: int = 0

    def begin(
        self, url: str, clients: list[int], *, topics: tuple[str, ...] = (), fanout: str | None = None
    ) -> None:
        """New users are about to come, and take these numbers in their order."""
        self.url, self.topics, self.fanout = url.rstrip("/"), topics, fanout
        self._numbers = list(reversed(clients))
        self.members, self.known, self._settled = [], {}, 0
        self.attempts = self.disconnects = self.broken_before = self.malformed = 0
        self.failures, self.connect_us = Counter(), []
        self._expected, self._waiting = None, 0

    @property
    def address(self) -> tuple[str, int]:
        """Where to dial."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or (443 if self.is_encrypted else 80)

    @property
    def is_encrypted(self) -> bool:
        """Whether it is dialled over TLS."""
        return self.url.startswith("https:")

    @property
    def connected(self) -> int:
        """Users that hold a connection now."""
        return sum(each.live for each in self.members)

    def join(self) -> Member:
        """A user's place; beyond the numbers that were given, the next free one."""
        number = self._numbers.pop() if self._numbers else len(self.members)
        member = Member(number)
        self.members.append(member)
        return member

    def subscription(self, member: Member) -> Subscription:
        """What a user asks for, now."""
        return Subscription(self.url, self.topics, member.last_event_id, self.fanout, USER_AGENT)

    def let_in(self, member: Member, position: str, offset: int, *, connect_us: int) -> None:
        """A handshake succeeded."""
        member.live = True
        # Who is let in for the first time now has missed what was before: it is not waited for.
        if self._waiting > 0 and member.was_let_in and not member.is_awaited:
            member.is_awaited = True
            self._waiting += 1
        self.connect_us.append(connect_us)
        member.replay_until = offset if member.last_event_id is not None else -1
        if member.last_event_id is None:
            member.last_event_id = position
        if not member.was_let_in:
            member.was_let_in = True
            self._settled += 1
            if self._numbers is not None and not self._numbers and self._settled == len(self.members):
                self.on_settled()

    def expect(self, expectation: Expectation) -> int:
        """Keep what arrives of it from now on; how many are connected, which is how many are waited for."""
        self._expected = expectation
        self.recording, self.known = Recording(), {}
        for member in self.members:
            member.seen, member.is_awaited = set(), member.live
        self.broken_before += self.disconnects
        self.disconnects = self.malformed = 0
        self._waiting = self.connected
        return self._waiting

    def heard(self, notifications: list[dict[str, Any]]) -> Heard:
        """What decoded notifications are to the trial."""
        expected = self._expected
        marks = [] if expected is None else [expected.mark(each) for each in notifications]
        last_id = notifications[-1].get("id") if notifications else None
        return Heard(
            tuple(each for each in marks if each is not None),
            len(notifications),
            last_id if isinstance(last_id, str) else None,
            is_shared=len({str(each.get("id")) for each in notifications}) > 1,
        )

    def remember(self, data: bytes, heard: Heard) -> None:
        """The next user that reads exactly this need not decode it."""
        if len(self.known) >= KNOWN_MAX:
            self.known.clear()
        self.known[data] = heard

    def keep(self, member: Member, heard: Heard, read_ns: int, kernel_ns: int | None) -> None:
        """What one read brought to one user."""
        if heard.last_id is not None:
            member.last_event_id = heard.last_id
        shared = SHARED if heard.is_shared else 0
        stamp_ns = 0 if kernel_ns is None else kernel_ns + self.kernel_offset_ns
        for seq, offset in heard.marks:
            replayed = REPLAYED if offset <= member.replay_until else 0
            self.recording.add(member.client, seq, offset, read_ns, stamp_ns, shared | replayed)
            if seq not in member.seen:
                member.seen.add(seq)
                if self._expected is not None and len(member.seen) == self._expected.count:
                    self._has_all(member)

    def _has_all(self, member: Member) -> None:
        if member.is_awaited:  # Anybody else stands in nobody's place.
            self._waiting -= 1
            if self._waiting == 0:
                self.on_complete()
