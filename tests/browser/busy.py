"""A main thread that has other things to do, as a page with a slow script has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.browser.cdp import Page

SHARE = 0.75
"""Of the time in which it is busy."""

PERIOD_MS = 200

KEEP_BUSY = f"""
globalThis.busy = {{ms: 0, since: performance.now()}};
globalThis.busy.timer = setInterval(() => {{
  // Catches up on what a late timer left out, so that the share is what it should be.
  const began = performance.now();
  while (globalThis.busy.ms + performance.now() - began < {SHARE} * (performance.now() - globalThis.busy.since));
  globalThis.busy.ms += performance.now() - began;
}}, {PERIOD_MS} * {1 - SHARE});
0
"""

STOP = """
clearInterval(globalThis.busy.timer);
globalThis.busy.ms / (performance.now() - globalThis.busy.since)
"""


@contextlib.contextmanager
def busy(page: Page) -> Iterator[list[float]]:
    """The page's thread is busy during the block; afterwards the list holds the share of the time that it was."""
    share: list[float] = []
    page.evaluate(KEEP_BUSY)
    try:
        yield share
    finally:
        share.append(float(page.evaluate(STOP)))
