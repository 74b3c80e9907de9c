"""A device whose clock is wrong: what its worker reads is shifted, runs at another rate, and steps when told.

The worker's own scripts see nothing else, as on a device whose clock is like that.
"""

from __future__ import annotations

import json

from tests.browser.cdp import Page

PRELUDE = """
(({offset_ms, rate}) => {
  const rawNow = performance.now.bind(performance);
  const rawDateNow = Date.now.bind(Date);
  const shift = {step_ms: 0};
  globalThis.shiftedClock = shift;
  const gained = () => offset_ms + rate * rawNow() + shift.step_ms;
  performance.now = () => rawNow() + gained();
  Date.now = () => Math.floor(rawDateNow() + gained());
})(%s)
"""

STEP = "shiftedClock.step_ms += %f"


def shift_clock(page: Page, *, offset_ms: float, rate: float) -> None:
    """Shift the clock of the workers that this tab will have; `rate` is a plain ratio, 50e-6 for 50 ppm."""
    page.before_workers(PRELUDE % json.dumps({"offset_ms": offset_ms, "rate": rate}))


def step_clock(page: Page, step_ms: float) -> float:
    """Let the clock of this tab's worker jump ahead; what it read just before, in microseconds."""
    before_ms = page.evaluate_in_worker(
        f"(() => {{ const before = performance.now(); {STEP % step_ms}; return before }})()"
    )
    return float(before_ms) * 1000


def raw_us(shifted_us: float, *, offset_ms: float, rate: float) -> float:
    """What the device's true clock read when the shifted one read this, before any step."""
    return (shifted_us - offset_ms * 1000) / (1 + rate)
