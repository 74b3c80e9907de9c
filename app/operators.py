"""Who operates this server: one-time links, the sessions they open, and a wait for whoever guesses.

    one-time link --sign_in--> session (a cookie)        token (`Authorization: Bearer`), for scripts

Everything is in memory and bounded. Secrets are kept and looked up by their SHA-256: how long a look-up takes tells
of the hash, and nothing of the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable

from app import clock
from app.core.errors import SiarError

COOKIE = "siar_operator"
"""The session's cookie."""

SESSION_S = 12 * 3600
"""A working day: who comes back tomorrow asks for a new link."""

SESSIONS_MAX = 32
LINK_S = 12 * 3600
LINKS_MAX = 16

SECRET_BYTES = 16
"""128 random bits."""

RUNNER_TOKEN_BYTES = 24

GUESSES_MAX = 5
GUESSES_US = 60_000_000
"""So many wrong ones from an address within a minute, then it waits."""

ADDRESSES_MAX = 1024
"""Addresses that are remembered for having guessed; beyond it the one that guessed longest ago is forgotten."""

NowUs = Callable[[], int]


class WrongKey(SiarError):
    """A one-time link was used before, is too old, or never was."""


class TooManyGuesses(SiarError):
    """An address gave too many wrong tokens or keys; a right one waits as well."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(
            f"Too many wrong tokens or links came from your address; try again in {wait_s} s. "
            "A right one waits as long."
        )
        self.wait_s = wait_s


class Tickets:
    """Secrets that were handed out, until they expire; at the bound the oldest makes room."""

    def __init__(self, *, count_max: int, age_s: float, now_us: NowUs) -> None:
        self._count_max = count_max
        self._age_us = round(age_s * 1e6)
        self._now_us = now_us
        self._ends_us: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self) -> str:
        """A new secret."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        self.add(secret)
        return secret

    def add(self, secret: str) -> None:
        """Take over a secret that somebody else drew."""
        with self._lock:
            self._ends_us[_hash(secret)] = self._now_us() + self._age_us
            while len(self._ends_us) > self._count_max:
                self._ends_us.popitem(last=False)

    def is_good(self, secret: str) -> bool:
        """Whether it was handed out, and not spent, and is not too old."""
        with self._lock:
            ends_us = self._ends_us.get(_hash(secret))
            return ends_us is not None and self._now_us() < ends_us

    def spend(self, secret: str) -> bool:
        """Whether it was good; from now on it is not."""
        with self._lock:
            ends_us = self._ends_us.pop(_hash(secret), None)
            return ends_us is not None and self._now_us() < ends_us


class Guesses:
    """Wrong tokens and keys by address: after five within a minute it waits until the first of them is a minute old."""

    def __init__(self, now_us: NowUs) -> None:
        self._now_us = now_us
        self._wrong_us: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, address: str) -> None:
        """Raises `TooManyGuesses` for an address that has to wait."""
        wrong_us = self._wrong_us.get(_network(address)) if self._wrong_us else None
        if wrong_us is None or len(wrong_us) < GUESSES_MAX:
            return
        left_us = wrong_us[0] + GUESSES_US - self._now_us()
        if left_us > 0:
            raise TooManyGuesses(-(-left_us // 1_000_000))

    def wrong(self, address: str) -> None:
        """One more wrong one."""
        with self._lock:
            network = _network(address)
            self._wrong_us.setdefault(network, deque(maxlen=GUESSES_MAX)).append(self._now_us())
            self._wrong_us.move_to_end(network)
            if len(self._wrong_us) > ADDRESSES_MAX:
                self._wrong_us.popitem(last=False)


class Operators:
    """The operator's token, links and sessions of one server. Every check of a secret takes constant time."""

    def __init__(self, *, token: str, first_key: str = "", now_us: NowUs = clock.monotonic_us) -> None:
        self._token = token.encode()
        self.runner_token = secrets.token_urlsafe(RUNNER_TOKEN_BYTES)
        """For the runner that this server starts: it shares its address with whoever guesses on this machine."""
        self._links = Tickets(count_max=LINKS_MAX, age_s=LINK_S, now_us=now_us)
        self._sessions = Tickets(count_max=SESSIONS_MAX, age_s=SESSION_S, now_us=now_us)
        self._guesses = Guesses(now_us)
        if first_key:
            self._links.add(first_key)

    def is_token(self, token: str, *, address: str) -> bool:
        """Whether `token` is the operator's. Raises `TooManyGuesses`; no token at all is no guess."""
        if not token:
            return False
        if hmac.compare_digest(
            token.encode(), self.runner_token.encode()
        ):  # Too long to be guessed: no wait.
            return True
        self._guesses.check(address)
        is_right = hmac.compare_digest(token.encode(), self._token)
        if not is_right:
            self._guesses.wrong(address)
        return is_right

    def new_link_key(self) -> str:
        """The key of a new one-time link: `/admin?key=<key>`."""
        return self._links.issue()

    def sign_in(self, key: str, *, address: str) -> str:
        """A session for a link's key, which is spent by it. Raises `WrongKey` and `TooManyGuesses`."""
        self._guesses.check(address)
        if not self._links.spend(key):
            self._guesses.wrong(address)
            raise WrongKey(
                "This link was used before or is too old: a link opens one session. `./siar link` prints a new one."
            )
        return self.new_session()

    def new_session(self) -> str:
        """A session for somebody who has proved to be an operator otherwise."""
        return self._sessions.issue()

    def is_session(self, session: str | None) -> bool:
        """Whether a cookie's value is a session. Not slowed: it cannot be guessed, and old pages go on asking."""
        return bool(session) and self._sessions.is_good(session or "")

    def sign_out(self, session: str) -> None:
        """End a session."""
        self._sessions.spend(session)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def _network(address: str) -> str:
    """The address, or of IPv6 its /64: one customer has that many, and would be a new guesser with each."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address
