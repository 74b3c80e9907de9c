"""A simulated client clock with known errors, for tests of clock synchronisation.

    reads = true + offset + skew (true - from) + step, if the step is in the past

True time is CLOCK_MONOTONIC, which all processes of a machine share. A client's stamps are converted to the readings of the
simulated clock before anything is computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulatedClock:
    """Errors of a clock; none by default."""

    offset_us: float = 0.0
    skew_ppm: float = 0.0
    """Relative rate error in parts per million; positive if it runs faster than the true clock."""
    from_us: float = 0.0
    """True time at which the skew has no effect yet."""
    step_us: float = 0.0
    """Size of a step forwards. A step back would make readings ambiguous for `true_us`."""
    step_at_us: float | None = None
    """True time of the step; `None` for no step."""

    def reads_us(self, true_us: float) -> float:
        """Return the reading at a true time, in whole microseconds like a client's stamps.

        Thousandths of a stamp, which only number the notifications of a read, are kept unchanged.
        """
        true_us, thousandths = divmod(true_us, 1)
        stepped_us = self.step_us if self.step_at_us is not None and true_us >= self.step_at_us else 0.0
        # Only the elapsed time is multiplied, because a double is too coarse for a billionth of months in microseconds.
        skewed_us = (true_us - self.from_us) * self.skew_ppm * 1e-6
        return round(true_us + self.offset_us + skewed_us + stepped_us) + round(thousandths, 3)

    def true_us(self, reading_us: float) -> float:
        """Return the true time of a reading, to half a microsecond."""
        stepped_us = 0.0
        if self.step_at_us is not None and reading_us >= self.reads_us(self.step_at_us):
            stepped_us = self.step_us
        elapsed_us = reading_us - stepped_us - self.offset_us - self.from_us
        return self.from_us + elapsed_us / (1 + self.skew_ppm * 1e-6)


TRUE_CLOCK = SimulatedClock()
"""A clock without errors."""
