"""Authentication of operators: one-time links, the sessions they open, and tokens. In memory and bounded.

one-time link --sign_in--> session (a cookie)        token (`Authorization: Bearer`), for scripts
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from app import clock
from app.core.errors import SiarError
from app.i18n import refusal
from app.server.auth_throttle import AuthThrottle

COOKIE = "siar_operator"
"""Name of the session's cookie."""

SESSION_S = 12 * 3600
"""A working day; the next day needs a new link."""

SESSIONS_MAX = 32
LINK_S = 12 * 3600
LINKS_MAX = 16

RUNNER_TOKEN_BYTES = 24

SECRET_BYTES = 16
"""Size of links' keys and sessions: 128 random bits."""

DRAWN_TOKEN_CHARS = 32
DRAWN_KEY_CHARS = 22
"""Minimum lengths of the tokens and keys that Siar generates. They have 128 random bits, which cannot be guessed, so a
correct one is not throttled. Otherwise a phone behind the operator's proxy or router could lock the operator out."""


class WrongKey(SiarError):
    """A one-time link is used, expired or unknown."""


class Operators:
    """The operator's token, links and sessions on one server. Secrets are compared in constant time."""

    def __init__(
        self, *, token: str, first_key: str = "", now_us: Callable[[], int] = clock.monotonic_us
    ) -> None:
        self._token = token.encode()
        self.runner_token = secrets.token_urlsafe(RUNNER_TOKEN_BYTES)
        """Token for the runner that this server starts, which shares the address of anyone who guesses on this machine."""
        self._links = Tickets(count_max=LINKS_MAX, age_s=LINK_S, now_us=now_us)
        self._sessions = Tickets(count_max=SESSIONS_MAX, age_s=SESSION_S, now_us=now_us)
        self._throttle = AuthThrottle(now_us)
        if first_key:
            self._links.add(first_key)

    def is_token(self, token: str, *, address: str) -> bool:
        """Return whether `token` is the operator's. Raises `TooManyGuesses`; an empty token does not count as a guess."""
        if not token:
            return False
        if self._is_drawn_token(token):
            return True
        is_right = hmac.compare_digest(token.encode(), self._token)
        self._throttle.check(address)
        if not is_right:
            self._throttle.record_failure(address)
        return is_right

    def _is_drawn_token(self, token: str) -> bool:
        """Return whether `token` is the operator's and too long to be guessed, in which case no throttle applies."""
        said = token.encode()
        is_runner = hmac.compare_digest(said, self.runner_token.encode())
        is_right = hmac.compare_digest(said, self._token)
        return is_runner or (is_right and len(token) >= DRAWN_TOKEN_CHARS)

    def new_link_key(self) -> str:
        """Create a one-time link and return its key, for `/admin?key=<key>`."""
        return self._links.issue()

    def sign_in(self, key: str, *, address: str) -> str:
        """Exchange a link's key for a session. Raises `WrongKey` and `TooManyGuesses`."""
        if len(key) < DRAWN_KEY_CHARS:
            self._throttle.check(address)
        if not self._links.spend(key):
            self._throttle.check(address)
            self._throttle.record_failure(address)
            raise WrongKey(refusal("link_used"))
        return self.new_session()

    def new_session(self) -> str:
        """Create a session for somebody who is authenticated as an operator by other means."""
        return self._sessions.issue()

    def is_session(self, session: str | None) -> bool:
        """Return whether a cookie's value is a session. Not throttled: it cannot be guessed, and old pages keep polling."""
        return bool(session) and self._sessions.is_valid(session or "")

    def sign_out(self, session: str) -> None:
        """End a session."""
        self._sessions.spend(session)


class Tickets:
    """Random secrets that are valid once or for a while; in memory, and at the bound the oldest is dropped.

    They are stored by their SHA-256, so that the duration of a look-up reveals only the hash and nothing of the secret.
    """

    def __init__(self, *, count_max: int, age_s: float, now_us: Callable[[], int]) -> None:
        self._count_max = count_max
        self._age_us = round(age_s * 1e6)
        self._now_us = now_us
        self._ends_us: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self) -> str:
        """Create and return a new secret."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        self.add(secret)
        return secret

    def add(self, secret: str) -> None:
        """Add a secret that was generated elsewhere."""
        with self._lock:
            self._ends_us[_hash(secret)] = self._now_us() + self._age_us
            while len(self._ends_us) > self._count_max:
                self._ends_us.popitem(last=False)

    def is_valid(self, secret: str) -> bool:
        """Return whether the secret was issued, is not spent and has not expired."""
        with self._lock:
            ends_us = self._ends_us.get(_hash(secret))
            return ends_us is not None and self._now_us() < ends_us

    def spend(self, secret: str) -> bool:
        """Invalidate the secret; return whether it was valid."""
        with self._lock:
            ends_us = self._ends_us.pop(_hash(secret), None)
            return ends_us is not None and self._now_us() < ends_us


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
