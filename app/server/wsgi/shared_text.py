"""The same text kept once, where thousands of connections would each have a copy.

Not `sys.intern`: Python 3.12.0 to 3.12.6 never lets go of what was interned (CPython, issue 113993), and these texts
are strangers'.
"""

from __future__ import annotations

import functools

TEXTS_MAX = 4096

CHARS_MAX = 512
"""Together two megabytes; what is longer is hardly ever the same for two clients."""


def shared(text: str) -> str:
    """`text`, the same object for everyone who asked with an equal one lately."""
    return _first(text) if len(text) <= CHARS_MAX else text


@functools.lru_cache(TEXTS_MAX)
def _first(text: str) -> str:
    return text
