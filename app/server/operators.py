"""Who operates this server: one-time links, the sessions they open, and tokens. In memory and bounded.

one-time link --sign_in--> session (a cookie)        token (`Authorization: Bearer`), for scripts
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable

from app import clock
from app.core.errors import SiarError
from app.i18n import refusal
from app.server.auth_throttle import AuthThrottle
from app.server.tickets import Tickets

COOKIE = "siar_operator"
"""The session's cookie."""

SESSION_S = 12 * 3600
"""A working day: who comes back tomorrow asks for a new link."""

SESSIONS_MAX = 32
LINK_S = 12 * 3600
LINKS_MAX = 16

RUNNER_TOKEN_BYTES = 24

DRAWN_TOKEN_CHARS = 32
DRAWN_KEY_CHARS = 22
"""So long are the tokens and keys that Siar draws: nobody guesses 128 random bits at any speed, so that a right one
never waits. Otherwise a phone behind the operator's own proxy or router could keep the operator out."""


class WrongKey(SiarError):
    """A one-time link was used before, is too old, or never was."""


class Operators:
    """The operator's token, links and sessions of one server. Every check of a secret takes constant time."""

    def __init__(
        self, *, token: str, first_key: str = "", now_us: Callable[[], int] = clock.monotonic_us
    ) -> None:
        self._token = token.encode()
        self.runner_token = secrets.token_urlsafe(RUNNER_TOKEN_BYTES)
        """For the runner that this server starts: it shares its address with whoever guesses on this machine."""
        self._links = Tickets(count_max=LINKS_MAX, age_s=LINK_S, now_us=now_us)
        self._sessions = Tickets(count_max=SESSIONS_MAX, age_s=SESSION_S, now_us=now_us)
        self._guesses = AuthThrottle(now_us)
        if first_key:
            self._links.add(first_key)

    def is_token(self, token: str, *, address: str) -> bool:
        """Whether `token` is the operator's. Raises `TooManyGuesses`; no token at all is no guess."""
        if not token:
            return False
        if self._is_drawn_token(token):
            return True
        is_right = hmac.compare_digest(token.encode(), self._token)
        self._guesses.check(address)
        if not is_right:
            self._guesses.wrong(address)
        return is_right

    def _is_drawn_token(self, token: str) -> bool:
        """Whether `token` is the operator's and one that nobody can guess, so that trying is no guess."""
        said = token.encode()
        is_runner = hmac.compare_digest(said, self.runner_token.encode())
        is_right = hmac.compare_digest(said, self._token)
        return is_runner or (is_right and len(token) >= DRAWN_TOKEN_CHARS)

    def new_link_key(self) -> str:
        """The key of a new one-time link: `/admin?key=<key>`."""
        return self._links.issue()

    def sign_in(self, key: str, *, address: str) -> str:
        """A session for a link's key, which is spent by it. Raises `WrongKey` and `TooManyGuesses`."""
        if len(key) < DRAWN_KEY_CHARS:
            self._guesses.check(address)
        if not self._links.spend(key):
            self._guesses.check(address)
            self._guesses.wrong(address)
            raise WrongKey(refusal("link_used"))
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
