"""The table of what the mechanisms of the hot path gain: ratios within a round, and intervals over repetitions."""

from __future__ import annotations

import pytest

from app.core.wire import TRANSPORT_SSE, TRANSPORTS
from app.tools.bench.session import PACED
from tests.tools.mechanisms import ROUNDS, SIDES, Ratio, Window, ratios, table

FIRST, OTHER = SIDES[0].name, SIDES[1].name


def _windows(gains: list[float], *, problems: list[str] | None = None) -> list[Window]:
    """One round of two sides for each gain, on a machine that is slower by half in every repetition."""
    found = []
    for repetition, gain in enumerate(gains):
        cost = 10.0 * 1.5**repetition
        for side, value in ((FIRST, cost), (OTHER, cost * gain)):
            values: dict[str, float | None] = {"cpu_us": value}
            where = (TRANSPORT_SSE, 1_000, PACED, repetition, 0, side)
            found.append(Window(*where, values, (problems or []) if side == OTHER else []))
    return found


def _of_other(windows: list[Window]) -> Ratio:
    (found,) = [
        each
        for each in ratios(windows)
        if (each.side, each.transport, each.metric, each.kind) == (OTHER, TRANSPORT_SSE, "cpu_us", PACED)
    ]
    return found


def test_a_ratio_is_taken_within_a_round_and_its_interval_over_repetitions() -> None:
    found = _of_other(_windows([1.10, 1.12, 1.14, 1.16, 1.18, 1.20]))

    assert found.repetitions == 6
    assert found.ratio == pytest.approx(1.15, abs=0.005)
    assert found.low == pytest.approx(1.10)
    assert found.high == pytest.approx(1.20)


def test_several_rounds_of_a_repetition_count_as_one_value() -> None:
    windows = _windows([1.1])
    more = [
        Window(each.transport, each.subscribers, each.kind, 0, number, each.side, each.values, [])
        for number in range(ROUNDS[PACED])
        for each in windows
    ]

    found = _of_other(more)

    assert (found.repetitions, found.low, found.high) == (1, None, None)
    assert found.ratio == pytest.approx(1.1)


def test_an_invalid_window_does_not_count() -> None:
    found = _of_other(_windows([1.1, 1.2], problems=["3 lost"]))

    assert (found.repetitions, found.ratio) == (0, None)


def test_the_table_has_a_line_for_each_figure_and_a_column_for_each_transport() -> None:
    shown = table(ratios(_windows([1.10, 1.12, 1.14, 1.16, 1.18, 1.20])))

    assert f"| {OTHER} | paced, cpu_us, 1,000 | 1.15 (1.10 to 1.20) | - |" in shown.splitlines()
    assert shown.splitlines()[0] == f"| side | figure | {' | '.join(TRANSPORTS)} |"
