"""Tables and sentences of a load run, shared by the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.core.messages import Message, Text, interval
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.load.agreement import Agreement
from app.tools.load.capacity import Capacity
from app.tools.load.levels import FIGURES, Level, title_of
from app.tools.load.result import LoadResult
from app.tools.load.vps_hops import Hop


def _headings(*keys: str) -> tuple[Message, ...]:
    return tuple(map(Message, keys))


LEVEL_HEADINGS = _headings(
    *("heading.arm", "load.h_users", "heading.trials", "load.h_delay", "heading.p95_ms", "heading.p99_ms"),
    *("load.h_self", "heading.lost", "load.h_errors", "load.h_connect", "load.h_cpu"),
)
BRIEF_COLUMNS = (0, 1, 3, 4, 7, 8, 10)
"""Columns of levels that fit a terminal of 80 columns."""

LEVEL_NOTE = Message("load.note_levels")
GENERATOR_HEADINGS = _headings(
    *("heading.arm", "load.h_users", "load.h_connected", "load.h_attempts", "load.h_core", "load.h_lag"),
    *("load.h_handler", "load.h_floor", "load.h_floor_range", "load.h_floor_p99", "load.h_void"),
)
GENERATOR_NOTE = Message("load.note_generator")
AGREEMENT_HEADINGS = _headings(
    *("heading.transport", "load.h_users", "heading.blocks", "load.h_built_in", "load.h_locust"),
    *("load.h_difference", "load.h_margin", "load.h_agree"),
)
AGREEMENT_NOTE = Message("load.note_agreement")
BROKEN_OFF = Message("load.broken_off")
HOPS_TITLE = Message("load.hops")
HOP_HEADINGS = _headings(
    *("load.h_over", "heading.arm", "load.h_users", "heading.figure", "heading.unit", "load.h_published"),
    *("heading.difference", "heading.95_%_interval", "heading.blocks"),
)
HOP_NOTE = Message("load.hop_note")


def level_cells(level: Level) -> tuple[Text, ...]:
    """Return a row of `LEVEL_HEADINGS`."""
    return (
        *(title_of(level.arm), level.users, len(level.trials), FIGURES["delay_ms_p50"].of(level)),
        *(_tail(level, "delay_ms_p95", 0.95), _tail(level, "delay_ms_p99", 0.99)),
        level.delays.generator.quantile_ms(0.5),
        level.total(lambda each: each.lost),
        _of(level.total(lambda each: each.errors), level.total(lambda each: each.attempts)),
        FIGURES["connect_ms_p95"].of(level),
        level.cpu_per_delivery_us,
    )


def generator_cells(level: Level) -> tuple[Text, ...]:
    """Return a row of `GENERATOR_HEADINGS`."""
    shares = [
        each.generator_cpu_share_max for each in level.trials if each.generator_cpu_share_max is not None
    ]
    lags = [each.generator_lag_ms_p99 for each in level.trials if each.generator_lag_ms_p99 is not None]
    floors = level.floors
    return (
        *(title_of(level.arm), level.users, _of(min(each.connected for each in level.trials), level.users)),
        level.total(lambda each: each.attempts),
        *(100 * max(shares) if shares else None, max(lags, default=None)),
        level.delays.application.quantile_ms(0.5),
        floors.median_ms if floors else None,
        _range(floors.range_ms) if floors else None,
        floors.tail_ms if floors else None,
        _of(len(level.trials) - len(level.valid_trials), len(level.trials)),
    )


def agreement_cells(agreement: Agreement) -> tuple[Text, ...]:
    """Return a row of `AGREEMENT_HEADINGS`."""
    return (
        *(TRANSPORT_TITLES[agreement.transport], agreement.users, agreement.blocks),
        *(agreement.built_in_ms, agreement.locust_ms, agreement.difference_ms, agreement.margin_ms),
        Message("cell.yes" if agreement.agrees else "cell.no"),
    )


def hop_cells(hop: Hop) -> tuple[Text, ...]:
    """Return a row of `HOP_HEADINGS`."""
    published = None if hop.published is None else float(hop.published)
    return (
        *(hop.over, hop.arm, hop.users, hop.figure, hop.unit, published, hop.estimate),
        *(interval(hop.interval.low, hop.interval.high), hop.blocks),
    )


def ending_sentences(result: LoadResult) -> Sequence[Message]:
    """Return the warning for an incomplete run: a gate that held in a part of it has not held."""
    return () if result.complete else (BROKEN_OFF,)


def validity_sentence(result: LoadResult) -> Message:
    """Return the sentence on the generator's validity, and how it was shown, as not every level has a floor."""
    if not result.levels:
        return Message("load.nothing")
    if not result.is_valid:
        return Message("load.invalid")
    proved, count = sum(each.floors is not None for each in result.levels), len(result.levels)
    if proved == count:
        return Message("load.valid")
    if proved:
        return Message("load.valid_some", {"proved": proved, "levels": count})
    return Message("load.valid_rules")


def capacity_sentences(result: LoadResult) -> Mapping[str, Message]:
    """Return a ramp's sentence on capacity for each arm; empty for other runs."""
    return {arm: _capacity_sentence(result, arm, each) for arm, each in result.capacity.items()}


def _capacity_sentence(result: LoadResult, arm: str, capacity: Capacity) -> Message:
    if capacity.is_unknown:
        key = "load.capacity_unknown"
    elif capacity.users is None:
        key = "load.capacity_none"
    elif capacity.gave_out_at is not None:
        key = "load.capacity_least"
    elif capacity.users == max(level.users for level in result.levels if level.arm == arm):
        key = "load.capacity_all"
    else:
        key = "load.capacity"
    return Message(key, {"arm": title_of(arm), "gates": gates_listed(result), "users": capacity.users})


def gates_listed(result: LoadResult) -> str:
    """Return all gates as they were typed."""
    return ", ".join(str(each.gate) for each in result.gates)


def _of(part: int, whole: int) -> Message:
    return Message("load.of", {"part": part, "whole": whole})


def _range(ends: tuple[float, float] | None) -> Message | None:
    return None if ends is None else Message("load.range", {"low": ends[0], "high": ends[1]})


def _tail(level: Level, name: str, share: float) -> Message | float | None:
    value = FIGURES[name].of(level)
    return value if value is None or level.supports(share) else Message("load.tail", {"value": value})
