"""How long a test waits for what must come."""

from __future__ import annotations

PATIENCE_S = 60.0
"""For an answer, a frame, a line, a start: only what hangs takes so long, on a machine however busy.

Nothing is claimed by it, and a test that succeeds never waits for its end. Where a time is the claim itself ("noticed at
once", "long before a ping is missed"), the test has a bound of its own, which says what would happen without it and when.
"""
