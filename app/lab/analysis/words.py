"""The catalogue: numbers and verdicts as words, the same on the terminal, in the report and in `result.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.delivery import SampleState
from app.core.plan.scenario import Arm
from app.core.wire import TRANSPORT_SOCKETIO, TRANSPORT_SSE

NOTHING = "-"
"""What does not exist; never a 0."""

TRANSPORT_TITLES = {TRANSPORT_SSE: "SSE", TRANSPORT_SOCKETIO: "Socket.IO"}


@dataclass(frozen=True, slots=True)
class MetricWords:
    """How a metric is spoken of."""

    title: str
    short: str
    """For a narrow column."""
    unit: str
    lower: str
    """What the arm with the lower value is."""
    of: str
    """Behind the unit of a difference."""


METRIC_WORDS = {
    "delay_ms_p50": MetricWords("Delay, median of clients' medians", "delay", "ms", "faster", ""),
    "cpu_per_delivery_us": MetricWords(
        "Server CPU per delivered notification", "CPU/notif.", "us", "cheaper", " of CPU per notification"
    ),
    "jitter_ms": MetricWords("Jitter (RFC 3550)", "jitter", "ms", "steadier", " of jitter"),
}

STATE_WORDS: Mapping[str, str] = {
    SampleState.NO_CLOCK: "without a clock",
    SampleState.WIDE_U: "with too wide a bound",
    SampleState.HIDDEN: "while hidden",
    SampleState.EPOCH_BREAK: "around a break of the clock",
    SampleState.WARMUP: "for warming up",
    SampleState.REPLAY: "replayed",
    SampleState.POLLING: "by polling",
}
"""Why an arrival's delay is not used, behind how many there are."""


def states(counts: Mapping[str, int]) -> list[str]:
    """How many arrivals are not used for which reason, in words."""
    return [f"{count} {STATE_WORDS.get(state, state)}" for state, count in counts.items()]


def number(value: float | None) -> str:
    """A figure for people: four significant digits, at most three decimals; "-" for what does not exist.

    Everything that is printed goes through here, so that the same figure looks the same everywhere.
    """
    if value is None:
        return NOTHING
    size = abs(value)
    decimals = 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval(low: float | None, high: float | None) -> str:
    """Both ends in brackets; "-" for an interval that does not exist."""
    return NOTHING if low is None or high is None else f"[{number(low)}, {number(high)}]"


def clients(count: int) -> str:
    """A count of clients with its noun."""
    return count_of(count, "client")


def count_of(count: int, noun: str) -> str:
    """A count with its noun, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def arm_title(arm: Arm) -> str:
    """The arm for people: `SSE`, `Socket.IO`, and `SSE 1`, `SSE 2` of an A/A run; any other name as it is."""
    if arm.name == arm.transport:
        return TRANSPORT_TITLES[arm.transport]
    repeat = arm.name.removeprefix(f"{arm.transport}.")
    return f"{TRANSPORT_TITLES[arm.transport]} {repeat}" if repeat.isdigit() else arm.name


def is_same_arm(a: Arm, b: Arm) -> bool:
    """Whether two arms differ in name only: an A/A pair, between which there is no difference to find."""
    return a.transport == b.transport and dict(a.factors) == dict(b.factors)


def pseudonym(client: int) -> str:
    """What a phone is called in everything that is kept: `P1` for the first seat."""
    return f"P{client + 1}"


def listing(items: Sequence[str]) -> str:
    """Items as a person says them: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
