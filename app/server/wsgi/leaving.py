"""One flag from gunicorn's master to its workers: the service ends soon (`SIAR_DRAIN_DELAY_S`)."""

from __future__ import annotations

import mmap

_flag = mmap.mmap(-1, 1)
"""Shared by all processes that are forked after this module was imported, which the master does first."""


def announce() -> None:
    """Let `/readyz` answer 503 from now on."""
    _flag[0] = 1


def is_announced() -> bool:
    """Return True if the master has announced the end."""
    return _flag[0] == 1
