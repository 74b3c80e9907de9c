r"""What the stamps of one clock segment allow a client's clock to be, and the hard bound that follows.

Theory of operation (`measurement.md` section 1). Inside a segment the server's clock S is a line over the client's
clock C: `S = C + a + b (C - c0)`. Nothing arrives before it was sent, so each probe puts two limits on the line:

    server   --------t2====t3----------      up:    a + b (t1 - c0) <= t2 - t1 + q
                    /        \                down:  a + b (t4 - c0) >= t3 - t4 - q
    client   -----t1----------t4-------      and     |b| <= rho

The lines that pass every limit form a polygon in (a, b). At a client time c they span an interval [L, U]; the
estimate is its middle and the bound half its width, plus q for the step of the clock that reads c. This is a
hard bound: it assumes causality, a clock that wanders from a line by no more than the allowance, and |b| <= rho,
but nothing about how delays are distributed. With one probe and no skew it is Cristian's bound.

Server stamps are near 1.8e15 us, where doubles are 0.25 us apart. All stamps are therefore first taken relative to
a reference on their own clock (c0, s0), and the difference of the references is added last.
`static/js/clockmodel.js` computes the same, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.core.clocksync.polygon import Polygon, box, extent_us, keep_above, keep_below

QUANTUM_US = 100.0
"""One step of `performance.now()` in a page that is not cross-origin isolated (Chromium since 91)."""

WANDER_US = 50.0
"""How far a real clock may stray from a straight line within one window."""

SKEW_MAX = 200e-6
"""rho: quartz in phones and computers stays within 100 ppm, so two of them within 200 ppm."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """What a clock is allowed."""

    quantum_us: float = QUANTUM_US
    """The coarser step of the two clocks."""
    wander_us: float = WANDER_US
    """Distance from a straight line."""
    skew_max: float = SKEW_MAX
    """Rate against the other clock, as a plain ratio."""

    @property
    def slack_us(self) -> float:
        """q: what each stamp may be off by."""
        return self.quantum_us + self.wander_us


DEFAULT_TOLERANCES = Tolerances()


@dataclass(frozen=True, slots=True)
class Probe:
    """Four stamps of one question and answer, microseconds each."""

    t1_us: float
    """Question sent, client clock."""
    t2_us: float
    """Question received, server timebase."""
    t3_us: float
    """Answer sent, server timebase."""
    t4_us: float
    """Answer received, client clock."""

    @property
    def round_trip_us(self) -> float:
        """Time on the network in both directions together, what the server took excluded."""
        return (self.t4_us - self.t1_us) - (self.t3_us - self.t2_us)

    def is_ordered(self) -> bool:
        """Whether the stamps are finite and neither clock ran backwards."""
        stamps_us = (self.t1_us, self.t2_us, self.t3_us, self.t4_us)
        return all(map(math.isfinite, stamps_us)) and self.t1_us <= self.t4_us and self.t2_us <= self.t3_us


@dataclass(frozen=True, slots=True)
class ClockModel:
    """All lines that the stamps of one clock segment allow. Immutable: further stamps give a narrower model."""

    client_reference_us: float
    """c0, client clock."""
    server_reference_us: float
    """s0, server timebase."""
    slack_us: float
    """q of the tolerances, given to each stamp."""
    polygon: Polygon
    """Allowed (a, b), with a relative to s0 - c0. Never empty."""

    @classmethod
    def start(cls, probe: Probe, tolerances: Tolerances = DEFAULT_TOLERANCES) -> ClockModel | None:
        """The model after one probe; `None` when no clock can have produced it."""
        received_us = probe.t4_us - probe.t1_us
        answered_us = probe.t3_us - probe.t2_us
        # The probe's own limits lie well inside this box: x is 0 at t1, received_us at t4, and rho is below 1.
        offset_max_us = 2.0 * (received_us + answered_us + tolerances.slack_us + 1.0)
        everything = cls(
            client_reference_us=float(probe.t1_us),
            server_reference_us=float(probe.t2_us),
            slack_us=tolerances.slack_us,
            polygon=box(offset_max_us, tolerances.skew_max),
        )
        return everything.with_probe(probe)

    @classmethod
    def fit(cls, probes: Iterable[Probe], tolerances: Tolerances = DEFAULT_TOLERANCES) -> ClockModel | None:
        """The model of all probes; `None` when there is no probe or no single clock explains all of them."""
        model: ClockModel | None = None
        for index, probe in enumerate(probes):
            if index == 0:
                model = cls.start(probe, tolerances)
            elif model is not None:
                model = model.with_probe(probe)
        return model

    def with_probe(self, probe: Probe) -> ClockModel | None:
        """The model narrowed by a probe's two limits; `None` when it contradicts the stamps so far."""
        narrowed = self._with_question(probe.t1_us, probe.t2_us)
        return narrowed and narrowed._with_answer(probe.t3_us, probe.t4_us)

    def _with_answer(self, sent_us: float, received_us: float) -> ClockModel | None:
        """Narrowed by one stamp pair downwards: sent in the server's timebase, received on the client's clock."""
        x_us = received_us - self.client_reference_us
        limit_us = ((sent_us - self.server_reference_us) - x_us) - self.slack_us
        return self._narrowed(keep_above(self.polygon, x_us, limit_us))

    def _with_question(self, sent_us: float, received_us: float) -> ClockModel | None:
        """Narrowed by one stamp pair upwards: sent on the client's clock, received in the server's timebase."""
        x_us = sent_us - self.client_reference_us
        limit_us = ((received_us - self.server_reference_us) - x_us) + self.slack_us
        return self._narrowed(keep_below(self.polygon, x_us, limit_us))

    def _narrowed(self, polygon: Polygon) -> ClockModel | None:
        return replace(self, polygon=polygon) if polygon else None

    def offset_us(self, client_us: float) -> float:
        """theta: what to add to the client's stamp to get the server's time."""
        reference_us = self.server_reference_us - self.client_reference_us
        return reference_us + self._relative_offset_us(client_us)

    def bound_us(self, client_us: float) -> float:
        """u: how far `offset_us` can be from the truth at most, the quantum of the stamp itself included."""
        low_us, high_us = extent_us(self.polygon, client_us - self.client_reference_us)
        return (high_us - low_us) / 2.0 + self.slack_us

    def server_us(self, client_us: float) -> float:
        """The server's time at a client's stamp."""
        elapsed_us = client_us - self.client_reference_us
        return self.server_reference_us + (elapsed_us + self._relative_offset_us(client_us))

    def _relative_offset_us(self, client_us: float) -> float:
        low_us, high_us = extent_us(self.polygon, client_us - self.client_reference_us)
        return (low_us + high_us) / 2.0
