"""A burst's figures are those of its windows: medians of what is measured, sums of what is counted, delays of whole rounds."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from app.tools.bench.burst import SUMS, burst_cells, sum_up
from app.tools.bench.plan import DIRECT, FLOOR, STOCK, BenchPlan
from app.tools.bench.publisher import Publication
from app.tools.bench.record import RESOLUTION_US, WindowResult
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, SWARM, BenchCell, Session

Rounds = list[dict[str, BenchCell]]


def window(server: str, p99_ms: float | None, **others: float) -> BenchCell:
    values: dict[str, float | None] = {**dict.fromkeys(SUMS, 0.0), "p50_ms": p99_ms, "p99_ms": p99_ms}
    values |= {"read_p99_ms": 9.0, "deliveries_per_s": 1e5, "cpu_us": 5.0, "swarm_busy": 0.8, **others}
    return BenchCell(BURST_HTTP, server, "sse", 1_000, 0, values)


def summed_up(server: str, rounds: Rounds) -> BenchCell:
    cell = BenchCell(BURST_HTTP, server, "sse", 1_000, 0)
    sum_up(cell, rounds)
    return cell


def rounds_of(floor: list[float | None], ours: list[float | None]) -> Rounds:
    return [
        {FLOOR: window(FLOOR, its), DIRECT: window(DIRECT, other)}
        for its, other in zip(floor, ours, strict=True)
    ]


def test_figures_are_medians_over_the_windows_and_counts_are_sums() -> None:
    rates = (100.0, 300.0, 200.0)
    rounds: Rounds = [{DIRECT: window(DIRECT, 5.0, deliveries_per_s=rate, lost=2.0)} for rate in rates]

    cell = summed_up(DIRECT, rounds)

    assert (cell.values["deliveries_per_s"], cell.values["lost"], cell.values["windows"]) == (200.0, 6.0, 3)
    assert [each["deliveries_per_s"] for each in cell.windows] == [*rates]
    assert "redis_cpu_us" not in cell.values


def test_a_round_in_which_one_server_has_no_delay_counts_for_none() -> None:
    """Such rounds are those of a slow machine: for the others they would count."""
    rounds = rounds_of(floor=[5.0, 9.0, 6.0, 7.0], ours=[4.0, None, 5.0, 8.0])

    floor, ours = summed_up(FLOOR, rounds), summed_up(DIRECT, rounds)

    assert (floor.values["p99_ms"], ours.values["p99_ms"]) == (6.0, 5.0)
    assert floor.values["windows_compared"] == ours.values["windows_compared"] == 3
    assert floor.values["deliveries_per_s"] == 1e5


@pytest.mark.parametrize(("ours", "p99_ms"), [([None, None, 5.0, 7.0], 6.0), ([None, None, None, 7.0], None)])
def test_with_fewer_than_half_of_the_rounds_there_is_no_delay(
    ours: list[float | None], p99_ms: float | None
) -> None:
    rounds = rounds_of(floor=[5.0, 9.0, 6.0, 6.0], ours=ours)

    cell = summed_up(DIRECT, rounds)

    assert cell.values["p99_ms"] == cell.values["p50_ms"] == p99_ms
    assert summed_up(FLOOR, rounds).values["p99_ms"] == (None if p99_ms is None else 6.0)
    assert cell.is_valid


def test_a_round_that_one_server_missed_counts_for_the_others() -> None:
    rounds = rounds_of(floor=[5.0, 6.0], ours=[4.0, 4.0])
    rounds[0][STOCK] = window(STOCK, None)

    assert summed_up(FLOOR, rounds).values["p99_ms"] == 5.5
    assert summed_up(STOCK, rounds).values["p99_ms"] is None
    rounds[0][STOCK] = window(STOCK, 90.0)
    assert summed_up(STOCK, rounds).values["p99_ms"] == 90.0


def test_what_is_wrong_with_a_window_is_wrong_with_the_burst_and_said_once() -> None:
    rounds = rounds_of(floor=[5.0, 5.0], ours=[4.0, 4.0])
    for found in rounds:
        found[DIRECT].problems.append("3 lost")

    assert summed_up(DIRECT, rounds).problems == ["3 lost"]
    assert summed_up(FLOOR, rounds).is_valid


class Bench:
    """In place of a server, its subscribers and its publisher: everybody has everything after a millisecond."""

    processes = 1
    redis_pid = None
    merges = False
    count = 0

    def __init__(self, name: str, turns: list[str]) -> None:
        self.name = self.path = name
        self.pid = 1
        self._turns = turns
        self._offset = 0

    def resize(self, count: int) -> None:
        self.count = count

    def begin(self, offset: int) -> int:
        self._turns.append(self.name)
        return self.count * (offset != self._offset)

    def wait_for(self, offset: int, **_: object) -> bool:
        return offset == self._offset

    def end(self, *, offset: int, starts_us: list[int], merges: bool) -> WindowResult:
        assert (offset, merges) == (self._offset, len(starts_us) == 600)
        delays = Counter({1_000 // RESOLUTION_US: self.count * len(starts_us)})
        last_us = starts_us[-1] + 1_000
        return WindowResult(reads=1, last_read_us=last_us, delays=delays, read_delays=delays)

    def publish(self) -> Publication:
        self._offset += 1
        return Publication(self._offset, self._offset, self.count)

    def burst(self, count: int, **_: object) -> tuple[list[int], int]:
        self._offset += count
        return [*range(self._offset - count, self._offset)], self._offset

    blast = burst


class BenchVisit(Session):
    """A visit that has nothing to settle and no path to look at."""

    def settle(self) -> int:
        return self.publisher.publish().offset

    def check_path(self, cell: BenchCell) -> None:
        cell.values["path_is_checked"] = 1.0


def test_servers_alternate_their_windows_and_the_first_one_rotates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Cpu:
        def __init__(self, _subject: object) -> None: ...

        def close(self) -> None: ...

        def values(self, deliveries: int) -> dict[str, float | None]:
            return {"cpu_us": float(deliveries)}

    monkeypatch.setattr("app.tools.bench.burst.CpuWindow", Cpu)
    plan = BenchPlan(burst_rounds=4, burst_notifications=5, burst_warm_up=2, burst_subscribers=3)
    turns: list[str] = []
    benches = [Bench(name, turns) for name in (FLOOR, STOCK, DIRECT)]
    visits = [BenchVisit(cast(Any, each), "sse", 0, cast(Any, each), cast(Any, each)) for each in benches]

    cells = list(burst_cells(visits, plan))

    kinds = [(FLOOR, SWARM), *((each.name, kind) for kind in (BURST_HTTP, BURST_INSIDE) for each in benches)]
    assert [(cell.server, cell.kind) for cell in cells] == kinds
    by_turns = [FLOOR, STOCK, DIRECT, DIRECT, FLOOR, DIRECT, FLOOR, FLOOR, DIRECT]
    assert turns == [FLOOR, *by_turns, *by_turns]
    assert [cell.problems for cell in cells] == [[]] * len(cells)
    ours = cells[3]
    assert ours.values["deliveries"] == 4 * 5 * 3, "those behind the warm-up"
    assert ours.values["cpu_us"] == 7 * 3, "of all, which the server has worked for"
    assert ours.values["p99_ms"] == ours.values["p99_pooled_ms"] == 1.0
    assert all(cell.values["path_is_checked"] for cell in cells if cell.kind != SWARM)
