"""A cache that keeps one copy of equal strings, of which thousands of connections would each hold their own.

`sys.intern` is unsuitable: Python 3.12.0 to 3.12.6 never frees interned strings (CPython, issue 113993), and these
come from clients.
"""

from __future__ import annotations

import functools

TEXTS_MAX = 4096

CHARS_MAX = 512
"""Longest cached string; with `TEXTS_MAX` two megabytes. Longer ones are hardly ever equal for two clients."""


def shared(text: str) -> str:
    """Return a string equal to `text`, the same object for all recent callers."""
    return _first(text) if len(text) <= CHARS_MAX else text


@functools.lru_cache(TEXTS_MAX)
def _first(text: str) -> str:
    return text
