"""Which arrivals are in which lane, and what is said of those without a kernel stamp of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.core.delivery import Outcome, SampleState
from app.core.histogram import histogram_of
from app.i18n import text
from app.tools.load.delays import Delays, delays_of, merged_delays
from app.tools.load.gates import judge, parse_gate
from app.tools.load.levels import FIGURES, Level, levels_of
from app.tools.load.trial_line import TrialLine
from tests.unit.load_lines import a_line
from tests.unit.support_run import a_delivery


def level_with(unstamped_ms: list[float], *, stamped_ms: list[float] | None = None) -> Level:
    """Believed trials; by default 198 arrivals of 5 ms have a stamp of their own."""
    stamped = histogram_of(1000 * each for each in stamped_ms or [5.0] * 198)
    unstamped = histogram_of(1000 * each for each in unstamped_ms)
    handler = merged_delays([Delays(application=stamped), Delays(application=unstamped)]).application
    (level,) = levels_of([a_line(delays=Delays(stamped, handler, unstamped=unstamped))])
    return level


def test_an_arrival_without_a_stamp_of_its_own_is_in_the_handlers_lane_alone() -> None:
    stamped = a_delivery(seq=0, delay_ms=5.0, kernel_delay_ms=4.0)
    shared = a_delivery(seq=1, delay_ms=30.0, kernel_delay_ms=None)

    delays = delays_of([stamped, shared], {(0, 0): 1_000.0})

    assert (delays.kernel.count, delays.kernel.max_us) == (1, 4_000)
    assert (delays.application.count, delays.application.max_us) == (2, 30_000)
    assert (delays.generator.count, delays.generator.max_us) == (1, 1_000)
    assert (delays.unstamped.count, delays.unstamped.max_us) == (1, 30_000)
    assert delays.unstamped_share == 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.DUPLICATE},
        {"outcome": Outcome.REPLAYED, "state": SampleState.REPLAY},
        {"warmup": True, "state": SampleState.WARMUP},
        {"delay_ms": None},
    ],
)
def test_what_is_no_sample_is_in_no_lane(changes: dict[str, Any]) -> None:
    delays = delays_of([a_delivery(**changes)], {})

    assert (delays.arrivals, delays.application.count, delays.unstamped_share) == (0, 0, None)


def test_percentiles_and_the_mean_are_of_own_stamps() -> None:
    level = level_with([400.0, 400.0])

    for name in ("delay_ms_p50", "delay_ms_p95", "delay_ms_p99", "delay_ms_mean"):
        assert FIGURES[name].of(level) == pytest.approx(5.0, rel=1e-3), name
    assert FIGURES["handler_delay_ms_p50"].of(level) == pytest.approx(5.0, rel=1e-3)
    assert FIGURES["unstamped_percent"].of(level) == 1.0


def test_what_was_very_late_is_not_hidden_by_its_stamp() -> None:
    """Two that waited together come in one read: a gate on the longest delay, or on spikes, still sees them."""
    level = level_with([900.0, 800.0])

    assert FIGURES["delay_ms_max"].of(level) == 900.0
    assert FIGURES["spike_percent"].of(level) == 1.0
    assert judge(parse_gate("delay_ms_max<500"), [level]).verdict == "missed"
    assert judge(parse_gate("spike_percent==0"), [level]).verdict == "missed"


def test_the_share_is_told_in_both_languages_where_there_is_one() -> None:
    (remark,) = level_with([400.0, 400.0]).remarks

    assert text(remark, "en").startswith("SSE with 10 users: 1.000 % of the arrivals")
    assert text(remark, "id").startswith("SSE dengan 10 pengguna: 1,000 % kedatangan")
    assert level_with([]).remarks == ()


def test_delays_come_back_from_what_was_written_and_merge_without_loss() -> None:
    delays = level_with([400.0]).delays

    assert Delays.from_json(delays.to_json()) == delays
    both = merged_delays([delays, delays])
    assert (both.unstamped.count, both.arrivals) == (2, 2 * delays.arrivals)


def test_a_run_of_before_is_read_as_it_was_judged_then() -> None:
    """Its kernel's lane has what had no stamp, and nobody counted what broke before a trial."""
    written = a_line(disconnects=1).to_json()
    del written["broken_before"]
    del written["lanes"]["unstamped"]

    line = TrialLine.from_json(written)

    assert line == a_line(disconnects=1)
    assert (line.errors, line.delays.unstamped_share) == (1, 0.0)


def test_connections_that_broke_before_a_trial_are_errors_and_no_disconnects_of_it() -> None:
    line = a_line(attempts=13, failures={"Connection refused": 1}, disconnects=1, broken_before=2)

    (level,) = levels_of([line, replace(line, trial=2)])

    assert (line.errors, FIGURES["errors"].of(level)) == (4, 8)
    assert FIGURES["disconnects"].of(level) == 2
    assert FIGURES["error_percent"].of(level) == pytest.approx(100 / 13)
    assert TrialLine.from_json(line.to_json()) == line
