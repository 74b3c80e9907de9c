"""A client's clock that is wrong by intent, and how wrong is known: what an instrument for clocks is tried with.

    reads = true + offset + skew (true - from) + step, once the step has come

The truth is CLOCK_MONOTONIC, which all processes of a machine share. Whatever a client stamps is turned into what
such a clock would have read, before anything is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulatedClock:
    """What is wrong with the clock; nothing by default."""

    offset_us: float = 0.0
    skew_ppm: float = 0.0
    """How much faster than the true clock it runs, parts per million."""
    from_us: float = 0.0
    """True moment at which the skew has added nothing yet."""
    step_us: float = 0.0
    """Forwards only: a clock that steps back reads some moments twice, and `true_us` could not tell which."""
    step_at_us: float | None = None
    """True moment of the step; `None`: it does not come."""

    def reads_us(self, true_us: float) -> float:
        """What the clock shows at a true moment: whole microseconds, as a client's stamps are.

        Of a stamp with thousandths, which only tell an order, these stay what they are.
        """
        true_us, thousandths = divmod(true_us, 1)
        stepped_us = self.step_us if self.step_at_us is not None and true_us >= self.step_at_us else 0.0
        # The elapsed part alone is multiplied: a double holds no billionth of a stamp of months.
        skewed_us = (true_us - self.from_us) * self.skew_ppm * 1e-6
        return round(true_us + self.offset_us + skewed_us + stepped_us) + round(thousandths, 3)

    def true_us(self, reading_us: float) -> float:
        """When the clock showed that, to half a microsecond."""
        stepped_us = 0.0
        if self.step_at_us is not None and reading_us >= self.reads_us(self.step_at_us):
            stepped_us = self.step_us
        elapsed_us = reading_us - stepped_us - self.offset_us - self.from_us
        return self.from_us + elapsed_us / (1 + self.skew_ppm * 1e-6)


TRUE_CLOCK = SimulatedClock()
"""Nothing is wrong with it."""
