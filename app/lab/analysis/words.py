"""Words for numbers, metrics and arms, shared by the terminal, the report and `result.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.delivery import SampleState
from app.core.messages import NOTHING as NOTHING
from app.core.messages import Message, count
from app.core.messages import number as number
from app.core.plan.scenario import Arm
from app.core.transports import REGISTERED

TRANSPORT_TITLES: Mapping[str, str] = {each.name: each.title for each in REGISTERED}


@dataclass(frozen=True, slots=True)
class MetricWords:
    """The words for a metric."""

    title: str
    short: str
    """A title for a narrow column."""
    unit: str
    lower: str
    """The adjective for the arm with the lower value."""
    of: str
    """A phrase that follows the unit of a difference."""


METRIC_WORDS = {
    "delay_ms_p50": MetricWords("Delay, median of clients' medians", "delay", "ms", "faster", ""),
    "cpu_per_delivery_us": MetricWords(
        "Server CPU per delivered notification", "CPU/notif.", "us", "cheaper", " of CPU per notification"
    ),
    "jitter_ms": MetricWords("Jitter (RFC 3550)", "jitter", "ms", "steadier", " of jitter"),
}

METRIC_KEYS = {"delay_ms_p50": "delay", "cpu_per_delivery_us": "cpu", "jitter_ms": "jitter"}
"""Names of the metrics in keys of the catalogue."""

STATE_WORDS: Mapping[str, str] = {
    SampleState.NO_CLOCK: "without a clock",
    SampleState.WIDE_U: "with too wide a bound",
    SampleState.HIDDEN: "while hidden",
    SampleState.EPOCH_BREAK: "around a break of the clock",
    SampleState.WARMUP: "for warming up",
    SampleState.REPLAY: "replayed",
    SampleState.POLLING: "by polling",
}
"""Reasons why a delay is not used, by sample state; a sentence puts the count before each."""


def states(counts: Mapping[str, int]) -> list[str]:
    """Return a phrase for each state: the number of arrivals that are not used, and the reason."""
    return [f"{count} {STATE_WORDS.get(state, state)}" for state, count in counts.items()]


def interval(low: float | None, high: float | None) -> str:
    """Format both ends in brackets; "-" for an interval that does not exist."""
    return NOTHING if low is None or high is None else f"[{number(low)}, {number(high)}]"


def clients(number: int) -> Message:
    """Return a count of clients with its noun."""
    return count(number, "client")


def count_of(count: int, noun: str) -> str:
    """Format a count with its noun, which is plural unless the count is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def arm_title(arm: Arm) -> str:
    """Return the title of an arm: `SSE`, `Socket.IO`, `SSE 1` and `SSE 2` in an A/A run; any other name unchanged."""
    if arm.name == arm.transport:
        return TRANSPORT_TITLES[arm.transport]
    repeat = arm.name.removeprefix(f"{arm.transport}.")
    return f"{TRANSPORT_TITLES[arm.transport]} {repeat}" if repeat.isdigit() else arm.name


def is_same_arm(a: Arm, b: Arm) -> bool:
    """Return True for an A/A pair: two arms that differ in name only."""
    return a.transport == b.transport and dict(a.factors) == dict(b.factors)


def pseudonym(client: int) -> str:
    """Return the name of a phone in everything that is stored: `P1` for the first seat."""
    return f"P{client + 1}"


def pseudonyms(clients: Sequence[int]) -> tuple[str, ...]:
    """Return the names of phones in everything that is stored."""
    return tuple(map(pseudonym, clients))


def listing(items: Sequence[str]) -> str:
    """Join items as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
