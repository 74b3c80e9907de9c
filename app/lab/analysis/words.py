"""Words for metrics, units and arms, shared by the terminal, the report and `result.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from app.core.messages import Message, Text, count
from app.core.plan.scenario import Arm
from app.core.transports import REGISTERED

TRANSPORT_TITLES: Mapping[str, str] = {each.name: each.title for each in REGISTERED}

METRIC_UNITS = {"delay_ms_p50": "ms", "cpu_per_delivery_us": "us", "jitter_ms": "ms"}

METRIC_KEYS = {"delay_ms_p50": "delay", "cpu_per_delivery_us": "cpu", "jitter_ms": "jitter"}
"""The name of each metric within keys of the catalogue of translated texts."""

WORD_UNITS = frozenset(
    {
        *("share", "notifications", "points", "bytes", "segments", "deliveries", "arrivals", "connections"),
        *("clients", "probes", "count"),
    }
)
"""Units that are words, to be translated; any other unit, such as `ms`, is a symbol."""


def unit_text(unit: str) -> Text:
    """Return a unit for a reader: a message to translate for a word of `WORD_UNITS`, else the symbol."""
    return Message(f"unit.{unit}") if unit in WORD_UNITS else unit


def metric(name: str) -> Message:
    """Return the short name of a metric, to be translated. `name`: a key of `METRIC_KEYS`, else `KeyError`."""
    return Message(f"metric.{METRIC_KEYS[name]}")


def metric_title(name: str) -> Message:
    """Return the full name of a metric, to be translated. `name`: a key of `METRIC_KEYS`, else `KeyError`."""
    return Message(f"metric.{METRIC_KEYS[name]}.title")


def metric_with_unit(name: str) -> Message:
    """Return the short name of a metric with its unit, for a narrow column. `name`: a key of `METRIC_KEYS`."""
    return Message(f"metric.{METRIC_KEYS[name]}.unit")


def with_unit(quantity: Text, unit: str) -> Message:
    """Return the name of a quantity with its unit after a comma, e.g. `delay, ms`."""
    return Message("quantity", {"quantity": quantity, "unit": unit_text(unit)})


def at_clients(arm: Arm, clients: int, noun: str) -> Message:
    """Return an arm with its count of clients, e.g. `SSE, 6 clients`. `noun`: "client" or "phone"."""
    return Message("cell.arm_at", {"arm": arm_title(arm), "clients": count(clients, noun)})


def moment(started: str) -> Text:
    """Return an ISO 8601 stamp as date and time in UTC, e.g. `25 Nov 2026, 03:32 UTC`; other text is returned unchanged."""
    try:
        when = datetime.fromisoformat(started).astimezone(UTC)
    except (ValueError, OverflowError):
        return started
    args = {
        "n": when.day,
        "month": Message(f"month.{when.month}"),
        "year": when.year,
        "time": f"{when:%H:%M}",
    }
    return Message("moment", args)


def clients(number: int) -> Message:
    """Return a count of clients in words, e.g. `1 client`, `6 clients`."""
    return count(number, "client")


def arm_title(arm: Arm) -> str:
    """Return an arm's name for readers: `SSE`, `Socket.IO`; `SSE 1`, `SSE 2` where a plan has the same arm twice.

    A name that is not made from the transport's is returned unchanged.
    """
    if arm.name == arm.transport:
        return TRANSPORT_TITLES[arm.transport]
    repeat = arm.name.removeprefix(f"{arm.transport}.")
    return f"{TRANSPORT_TITLES[arm.transport]} {repeat}" if repeat.isdigit() else arm.name


def is_same_arm(a: Arm, b: Arm) -> bool:
    """Return True if two arms have the same transport and factors (A/A), whatever their names."""
    return a.transport == b.transport and dict(a.factors) == dict(b.factors)


def pseudonym(client: int) -> str:
    """Return a phone's pseudonym, its name in exports: `P1` for client 0, which has the first seat."""
    return f"P{client + 1}"


def pseudonyms(clients: Sequence[int]) -> tuple[str, ...]:
    """Return the pseudonym of each phone, in the order given. `clients`: numbers from 0."""
    return tuple(map(pseudonym, clients))
