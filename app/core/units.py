"""Units of time that a type checker keeps apart: microseconds of two clocks, which have nothing in common but their length.

A plain number is neither: whoever computes a moment says which clock it is of, as in `ServerUs(now_us + ttl_us)`. A
duration is a plain `int`, and so is the difference of two moments.
"""

from __future__ import annotations

from typing import NewType

ServerUs = NewType("ServerUs", int)
"""A moment in the server's time base (`clock.now_us`): microseconds since the Unix epoch as it was believed at start."""

MonotonicUs = NewType("MonotonicUs", int)
"""A moment of CLOCK_MONOTONIC (`clock.monotonic_us`), microseconds: since this machine started, and of no other machine."""
