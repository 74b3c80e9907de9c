"""Types for moments on two clocks in microseconds, so that a type checker prevents mixing them.

A computed moment must name its clock, as in `ServerUs(now_us + ttl_us)`. A duration, such as the difference of two
moments, is a plain `int`.
"""

from __future__ import annotations

from typing import NewType

ServerUs = NewType("ServerUs", int)
"""A moment in the server's time base (`clock.now_us`): microseconds since the Unix epoch as known at start."""

MonotonicUs = NewType("MonotonicUs", int)
"""A moment of CLOCK_MONOTONIC (`clock.monotonic_us`): microseconds since this machine started; not valid on others."""
