"""Timeout for tests that wait for something that must happen."""

from __future__ import annotations

PATIENCE_S = 60.0
"""Timeout for an answer, a frame, a line or a start: even on a busy machine, only what hangs takes so long.

It makes no claim, and a passing test never waits for its end. If a time is the claim itself ("noticed at once", "long
before a ping is missed"), the test has its own bound, and says what would happen without it and when.
"""
