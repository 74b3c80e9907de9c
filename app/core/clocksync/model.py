r"""Model of a client's clock in one segment: all lines that the probes allow, and a hard bound of the offset.

Theory of operation (`measurement.md` section 1). Within a segment the server's clock S is a line over the client's
clock C: `S = C + a + b (C - c0)`. Nothing arrives before it was sent, so each probe puts two limits on the line:

    server   --------t2====t3----------      up:    a + b (t1 - c0) <= t2 - t1 + q
                    /        \                down:  a + b (t4 - c0) >= t3 - t4 - q
    client   -----t1----------t4-------      and     |b| <= rho

The lines within all limits form a polygon in (a, b). At a client time c they span an interval [L, U]. The estimate is
its middle; the bound is half its width, plus q for the step of the clock that reads c. The bound is hard: it assumes
causality, a clock that deviates from a line by no more than the tolerance, and |b| <= rho, but no distribution of
delays. With one probe and no skew it is Cristian's bound.

Server stamps are near 1.8e15 us, where doubles are 0.25 us apart. Therefore all stamps are first taken relative to a
reference on their own clock (c0, s0), and the difference of the references is added last.
`static/js/clockmodel.js` computes the same in the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.core.clocksync.polygon import Polygon, box, extent_us, keep_above, keep_below

QUANTUM_US = 100.0
"""One step of `performance.now()` in a page that is not cross-origin isolated (Chromium since 91)."""

WANDER_US = 50.0
"""Greatest deviation of a real clock from a straight line within one window."""

SKEW_MAX = 200e-6
"""rho: quartz in phones and computers stays within 100 ppm, so two of them within 200 ppm."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Limits of a clock's error that the model assumes."""

    quantum_us: float = QUANTUM_US
    """The coarser step of the two clocks."""
    wander_us: float = WANDER_US
    """Greatest distance from a straight line."""
    skew_max: float = SKEW_MAX
    """Greatest difference in rate between the two clocks, as a plain ratio."""

    @property
    def slack_us(self) -> float:
        """q: the greatest error of one stamp."""
        return self.quantum_us + self.wander_us


DEFAULT_TOLERANCES = Tolerances()


@dataclass(frozen=True, slots=True)
class Probe:
    """Four stamps of one question and its answer, microseconds each."""

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
        """Time on the network in both directions together, without the server's processing time."""
        return (self.t4_us - self.t1_us) - (self.t3_us - self.t2_us)

    def is_ordered(self) -> bool:
        """Return True if the stamps are finite and neither clock ran backwards."""
        stamps_us = (self.t1_us, self.t2_us, self.t3_us, self.t4_us)
        return all(map(math.isfinite, stamps_us)) and self.t1_us <= self.t4_us and self.t2_us <= self.t3_us


@dataclass(frozen=True, slots=True)
class ClockModel:
    """All lines that the stamps of one clock segment allow. Immutable: a further probe gives a new, narrower model."""

    client_reference_us: float
    """c0, client clock."""
    server_reference_us: float
    """s0, server timebase."""
    slack_us: float
    """q of the tolerances: the error assumed for each stamp."""
    polygon: Polygon
    """Region of allowed (a, b), with a relative to s0 - c0. Never empty."""

    @classmethod
    def start(cls, probe: Probe, tolerances: Tolerances = DEFAULT_TOLERANCES) -> ClockModel | None:
        """Build the model of one probe; `None` if no clock can have produced its stamps."""
        received_us = probe.t4_us - probe.t1_us
        answered_us = probe.t3_us - probe.t2_us
        # The probe's own limits lie well within this box: x is 0 at t1, received_us at t4, and rho is below 1.
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
        """Build the model of all probes; `None` without probes, or if no single clock explains all of them."""
        model: ClockModel | None = None
        for index, probe in enumerate(probes):
            if index == 0:
                model = cls.start(probe, tolerances)
            elif model is not None:
                model = model.with_probe(probe)
        return model

    def with_probe(self, probe: Probe) -> ClockModel | None:
        """Return the model narrowed by a probe's two limits; `None` if the probe contradicts the earlier stamps."""
        narrowed = self._with_question(probe.t1_us, probe.t2_us)
        return narrowed and narrowed._with_answer(probe.t3_us, probe.t4_us)

    def _with_answer(self, sent_us: float, received_us: float) -> ClockModel | None:
        """Apply the limit of the answer: sent in the server's timebase, received on the client's clock."""
        x_us = received_us - self.client_reference_us
        limit_us = ((sent_us - self.server_reference_us) - x_us) - self.slack_us
        return self._narrowed(keep_above(self.polygon, x_us, limit_us))

    def _with_question(self, sent_us: float, received_us: float) -> ClockModel | None:
        """Apply the limit of the question: sent on the client's clock, received in the server's timebase."""
        x_us = sent_us - self.client_reference_us
        limit_us = ((received_us - self.server_reference_us) - x_us) + self.slack_us
        return self._narrowed(keep_below(self.polygon, x_us, limit_us))

    def _narrowed(self, polygon: Polygon) -> ClockModel | None:
        return replace(self, polygon=polygon) if polygon else None

    def offset_us(self, client_us: float) -> float:
        """Return theta, the offset to add to a client's stamp to get the server's time."""
        reference_us = self.server_reference_us - self.client_reference_us
        return reference_us + self._relative_offset_us(client_us)

    def bound_us(self, client_us: float) -> float:
        """Return u, the greatest possible error of `offset_us`, the quantum of the stamp itself included."""
        low_us, high_us = extent_us(self.polygon, client_us - self.client_reference_us)
        return (high_us - low_us) / 2.0 + self.slack_us

    def server_us(self, client_us: float) -> float:
        """Return the server's time at a client's stamp."""
        elapsed_us = client_us - self.client_reference_us
        return self.server_reference_us + (elapsed_us + self._relative_offset_us(client_us))

    def _relative_offset_us(self, client_us: float) -> float:
        low_us, high_us = extent_us(self.polygon, client_us - self.client_reference_us)
        return (low_us + high_us) / 2.0
