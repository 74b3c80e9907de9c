"""Access to the room: a short code for phones and an unguessable key for the big screen."""

from __future__ import annotations

import hashlib
import hmac
import secrets

CODE_LETTERS = "BCDFGHJKMNPRSTVWXZ"
"""Letters that are read aloud and copied without mistakes: no I, L, O or Q; and no vowels, so that they form no words."""

CODE_CHARS = 4
"""Gives 104,976 codes. With wrong codes throttled, guessing takes days, and a code is valid for a lesson."""


class Invitation:
    """Code and screen key, valid for the lifetime of the server process."""

    def __init__(self, secret: bytes) -> None:
        self.code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_CHARS))
        self._screen_key = screen_key(secret)

    @property
    def screen_key(self) -> str:
        """Return the key of the big screen's link."""
        return self._screen_key

    def is_code(self, text: str) -> bool:
        """Return whether `text` is the code in upper or lower case; in constant time."""
        return hmac.compare_digest(text.strip().upper().encode(), self.code.encode())

    def is_screen_key(self, text: str) -> bool:
        """Return whether `text` is the big screen's key; in constant time."""
        return hmac.compare_digest(text.encode(), self._screen_key.encode())


def screen_key(secret: bytes) -> str:
    """Return the key of the big screen's link. It permits looking, and nothing else can be derived from it.

    `secret` is random per start (the setting `operator_key` if `serve` made one).
    """
    return hmac.new(secret, b"siar screen", hashlib.sha256).hexdigest()[:32]
