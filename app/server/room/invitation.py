"""How people get into the room: a short code, and the big screen's unguessable key."""

from __future__ import annotations

import hashlib
import hmac
import secrets

CODE_LETTERS = "BCDFGHJKMNPRSTVWXZ"
"""Read aloud and written down without mistakes: no I and L, no O and Q, and no vowels, so that it makes no words."""

CODE_CHARS = 4
"""104,976 codes, against wrong ones being slowed down: days of trying for one that is good for a lesson."""


class Invitation:
    """The code and key of one server's life."""

    def __init__(self, secret: bytes) -> None:
        self.code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_CHARS))
        self._screen_key = screen_key(secret)

    @property
    def screen_key(self) -> str:
        """The key of the big screen's link."""
        return self._screen_key

    def is_code(self, text: str) -> bool:
        """Whether somebody typed the code, in letters of either case; in constant time."""
        return hmac.compare_digest(text.strip().upper().encode(), self.code.encode())

    def is_screen_key(self, text: str) -> bool:
        """Whether `text` is the big screen's key; in constant time."""
        return hmac.compare_digest(text.encode(), self._screen_key.encode())


def screen_key(secret: bytes) -> str:
    """The key of the big screen's link: whoever has it may look, and can derive nothing else from it.

    `secret` is the start's random one (the setting `operator_key`, where `serve` made it).
    """
    return hmac.new(secret, b"siar screen", hashlib.sha256).hexdigest()[:32]
