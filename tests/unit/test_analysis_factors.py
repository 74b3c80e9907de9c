"""Effects of factors on runs whose effects are known, and the study's method on clocks that drift."""

import itertools
import random
from dataclasses import replace

import pytest

from app.core.delivery import Delivery
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Arm
from app.core.trial import TrialRecord
from app.lab.analysis.comparison.factors import Trial, contributions, factor_names, factor_table
from app.lab.analysis.comparison.study_method import Stamps, study_methods
from tests.unit.support_run import CLIENT_CLOCK_US, EPOCH_US, a_delivery, a_plan, a_trial


def arm(transport: str, **factors: str | bool | int) -> Arm:
    return Arm(transport + "".join(f"+{name}={value}" for name, value in factors.items()), transport, factors)


FANOUTS = ("direct", "stock")
SQUARE = [arm(t, fanout=f) for t in ("sse", "socketio") for f in FANOUTS]


def value_of(each: Arm, clients: int = 1) -> float:
    """Socket.IO adds 2, stock fan-out 5, both together 1 more, each client 0.5."""
    socketio, stock = each.transport == "socketio", each.factors.get("fanout") == "stock"
    return 10 + 2 * socketio + 5 * stock + 1 * (socketio and stock) + 0.5 * clients


def trials(
    arms: list[Arm], *, clients: tuple[int, ...] = (1,), blocks: int = 8, noise: float = 0.0, seed: int = 1
) -> list[Trial]:
    rng = random.Random(seed)
    return [
        Trial(each, n, block, value_of(each, n) + day + rng.gauss(0, noise))
        for block in range(blocks)
        for day in [rng.gauss(0, 10)]  # what a block's trials have in common cancels
        for n in clients
        for each in arms
    ]


def test_main_effects_and_their_interaction_come_out_exactly_whatever_the_blocks_do() -> None:
    table = factor_table("delay_ms_p50", trials(SQUARE))

    rows = {(row.kind, row.factors): row for row in table.effects}
    assert rows["main", ("transport",)].estimate == pytest.approx(2.5)  # 2 beside direct, 3 beside stock
    assert rows["main", ("fanout",)].estimate == pytest.approx(5.5)
    assert rows["interaction", ("transport", "fanout")].estimate == pytest.approx(1.0)
    assert rows["main", ("transport",)].levels == (("sse", "socketio"),)
    assert {row.cells for row in table.effects} == {2, 1}
    assert table.confounded == ()


def test_a_factor_that_the_first_arm_leaves_unset_is_told_between_the_levels_that_pair() -> None:
    arms = [arm("socketio", fanout="stock"), arm("sse", gap=10), arm("sse", gap=20), arm("sse", gap=40)]

    table = factor_table("delay_ms_p50", trials(arms))

    gaps = [row for row in table.effects if row.factors == ("gap",)]
    assert [(row.levels, row.cells, row.estimate) for row in gaps] == [
        (((10, 20),), 1, pytest.approx(0.0)),
        (((10, 40),), 1, pytest.approx(0.0)),
    ]
    assert table.confounded == ("transport", "fanout")


def test_the_count_of_clients_is_a_factor_too() -> None:
    table = factor_table("delay_ms_p50", trials(SQUARE, clients=(1, 6)))

    rows = {row.factors: row for row in table.effects}
    assert rows["clients",].estimate == pytest.approx(2.5)
    assert rows["transport", "clients"].estimate == pytest.approx(0.0)
    assert rows["clients",].levels == ((1, 6),)


def test_factors_that_never_change_alone_are_named_and_not_guessed() -> None:
    table = factor_table("delay_ms_p50", trials([SQUARE[0], SQUARE[3]]))

    assert table.confounded == ("transport", "fanout")
    assert table.effects == ()


def test_an_effect_that_is_there_is_found_and_one_that_is_not_is_not() -> None:
    arms = [arm(t, compression=c, fanout="direct") for t in ("sse", "socketio") for c in (True, False)]

    table = factor_table("delay_ms_p50", trials(arms, blocks=12, noise=0.3))

    rows = {row.factors: row for row in table.effects}
    assert rows["transport",].p_holm < 0.05
    assert rows["transport",].interval.excludes(0.0)
    assert rows["compression",].p_holm > 0.05
    assert all(row.p_holm >= row.p for row in table.effects)


def test_more_than_two_levels_are_each_set_against_the_first() -> None:
    arms = [arm("sse", gap_s=gap) for gap in ("0.2", "1", "5")]

    table = factor_table("delay_ms_p50", trials(arms))

    assert [row.levels for row in table.effects] == [(("0.2", "1"),), (("0.2", "5"),)]


def test_a_block_without_one_of_the_cells_is_left_out() -> None:
    some = [each for each in trials(SQUARE) if not (each.block == 3 and each.arm is SQUARE[1])]

    table = factor_table("delay_ms_p50", some)

    assert {row.blocks for row in table.effects} == {7}


def test_one_arm_alone_has_no_factors() -> None:
    assert factor_names(trials([SQUARE[0]])) == ()
    assert factor_table("delay_ms_p50", trials([SQUARE[0]])).effects == ()


def test_contributions_add_up_to_the_difference_and_share_the_interaction() -> None:
    found = contributions(trials(SQUARE), SQUARE[0], SQUARE[3], 1)

    assert {each.factor: each.estimate for each in found} == pytest.approx({"transport": 2.5, "fanout": 5.5})
    assert sum(each.estimate or 0 for each in found) == pytest.approx(
        value_of(SQUARE[3]) - value_of(SQUARE[0])
    )


def test_contributions_take_the_orders_whose_arms_were_measured() -> None:
    """Polling is Socket.IO's alone: the way from SSE to polling leads over Socket.IO only."""
    arms = [arm("sse"), arm("socketio"), arm("socketio", polling=True)]
    measured = [
        Trial(each, 1, block, float(value + block))
        for block in range(8)
        for each, value in zip(arms, (1, 3, 10), strict=True)
    ]

    found = contributions(measured, arms[0], arms[2], 1)

    assert {each.factor: each.estimate for each in found} == {"transport": 2.0, "polling": 7.0}
    assert contributions([each for each in measured if each.arm is not arms[1]], arms[0], arms[2], 1) == ()


def test_a_factor_that_adds_nothing_has_a_contribution_of_zero() -> None:
    arms = [arm("sse"), arm("socketio"), arm("socketio", polling=True)]
    measured = [
        Trial(each, 1, block, value)
        for block in range(8)
        for each, value in zip(arms, (3.0, 3.0, 10.0), strict=True)
    ]

    found = contributions(measured, arms[0], arms[2], 1)

    assert {each.factor: each.estimate for each in found} == {"transport": 0.0, "polling": 7.0}


PLAN = a_plan(client_counts=(2,), notifications=4, warmup=0)
NAMES = ("sse", "socketio")


def on_clock(delay_ms: float, *, client: int, at_s: float, drift_ppm: float) -> list[Delivery]:
    """Deliveries stamped by a clock that runs fast, each with its true offset at the time."""
    found = []
    for seq in range(4):
        true_us = at_s * 1e6 + seq * 50_000 + delay_ms * 1000
        client_us = CLIENT_CLOCK_US + true_us * (1 + drift_ppm * 1e-6)
        row = a_delivery(client=client, seq=seq, due_ms=at_s * 1000 + seq * 50.0, delay_ms=delay_ms)
        values = {name: getattr(row, name) for name in row.__slots__}
        values |= {"received_client_us": client_us, "clock_offset_us": EPOCH_US + true_us - client_us}
        found.append(Delivery(**values))
    return found


def record(
    name: str, block: int, index: int, *, delays: tuple[float, float], drift_ppm: float
) -> TrialRecord:
    rows = list(
        itertools.chain.from_iterable(
            on_clock(delay, client=client, at_s=60.0 * index, drift_ppm=drift_ppm if client else 0.0)
            for client, delay in enumerate(delays)
        )
    )
    return a_trial(rows, plan=PLAN, clients=2, arm=Arm(name, name), block=block, index=index)


def test_with_perfect_clocks_the_study_finds_the_difference_of_means() -> None:
    records = [
        record(name, block, 2 * block + place, delays=delays, drift_ppm=0.0)
        for block in range(3)
        for place, (name, delays) in enumerate(zip(NAMES, ((1.0, 3.0), (2.0, 5.0)), strict=True))
    ]

    (found,) = study_methods(records, *NAMES, counting={(2, block) for block in range(3)})

    assert (found.first.a_mean_ms, found.first.b_mean_ms) == pytest.approx((2.0, 3.5))
    assert (found.a_lower, found.b_lower, found.clients) == (3, 0, 2)
    assert found.drift_ms_max == pytest.approx(0.0, abs=1e-3)


def test_with_clocks_that_drift_the_later_trial_wins_or_loses_by_its_place() -> None:
    """Both arms are the same; one phone's clock gains 100 ppm. Mirrored blocks make the study say both."""
    orders = [NAMES, NAMES[::-1], NAMES, NAMES[::-1]]
    records = [
        record(name, block, 2 * block + place, delays=(1.0, 1.0), drift_ppm=100.0)
        for block, order in enumerate(orders)
        for place, name in enumerate(order)
    ]

    (found,) = study_methods(records, *NAMES, counting={(2, block) for block in range(4)})

    assert (found.a_lower, found.b_lower) == (2, 2)
    assert found.drift_ms_max == pytest.approx(42.0, rel=0.01)  # 7 minutes at 100 ppm
    assert abs(found.first.difference_ms) == pytest.approx(3.0, rel=0.01)  # a minute's, over two phones


def test_a_block_in_which_one_arm_has_no_arrival_is_no_block_of_the_study() -> None:
    records = [
        record(name, block, 2 * block + place, delays=(1.0, 1.0), drift_ppm=0.0)
        for block in range(2)
        for place, name in enumerate(NAMES)
    ]
    silent = replace(records[3], deliveries=())

    (found,) = study_methods([*records[:3], silent], *NAMES, counting={(2, 0), (2, 1)})

    assert [each.block for each in found.blocks] == [0]


def told(record: TrialRecord, *, late_ms: tuple[float, float]) -> TrialRecord:
    """The same trial of phones whose wall clocks are so much too far on."""
    conducts = tuple(
        LifecycleReport(client, wall_ahead_us=EPOCH_US - CLIENT_CLOCK_US + wrong_ms * 1000)
        for client, wrong_ms in enumerate(late_ms)
    )
    return replace(record, participants=(0, 1), lifecycle_reports=conducts)


def test_phones_are_read_by_their_wall_clocks_however_wrong_those_are() -> None:
    wrong_ms = (2000.0, -5000.0)
    records = [
        told(record(name, 0, place, delays=delays, drift_ppm=0.0), late_ms=wrong_ms)
        for place, (name, delays) in enumerate(zip(NAMES, ((1.0, 3.0), (2.0, 5.0)), strict=True))
    ]

    (found,) = study_methods(records, *NAMES, counting={(2, 0)})

    assert found.stamps is Stamps.WALL
    assert (found.first.a_mean_ms, found.first.b_mean_ms) == pytest.approx((2.0 - 1500.0, 3.5 - 1500.0))
    assert found.first.clocks_ms == pytest.approx(0.0, abs=1e-3)
    assert found.wall_error_ms_max == pytest.approx(5000.0)
    assert found.drift_ms_max == pytest.approx(0.0, abs=1e-3)


def test_a_wall_clock_that_is_set_between_two_trials_decides_what_the_study_would_have_found() -> None:
    trials = [
        told(record(name, 0, place, delays=(1.0, 1.0), drift_ppm=0.0), late_ms=(0.0, 100.0 * place))
        for place, name in enumerate(NAMES)
    ]

    (found,) = study_methods(trials, *NAMES, counting={(2, 0)})

    assert found.first.difference_ms == pytest.approx(50.0)  # Over two phones.
    assert found.first.clocks_ms == pytest.approx(50.0)
    assert found.drift_ms_max == pytest.approx(100.0)


def test_with_one_wall_clock_unknown_all_clocks_are_set_once() -> None:
    both = [
        told(record(name, 0, place, delays=(1.0, 1.0), drift_ppm=0.0), late_ms=(0.0, 9000.0))
        for place, name in enumerate(NAMES)
    ]
    silent = replace(both[1], lifecycle_reports=(both[1].lifecycle_reports[0], LifecycleReport(1)))

    (found,) = study_methods([both[0], silent], *NAMES, counting={(2, 0)})

    assert (found.stamps, found.wall_error_ms_max) == (Stamps.SET_ONCE, None)
    assert found.first.a_mean_ms == pytest.approx(1.0)


def test_blocks_that_do_not_count_are_left_out_and_a_new_clock_is_set_anew() -> None:
    records = [
        record(name, block, 2 * block + place, delays=(1.0, 1.0), drift_ppm=0.0)
        for block in range(2)
        for place, name in enumerate(NAMES)
    ]
    moved = [
        Delivery(
            **{
                **{name: getattr(row, name) for name in row.__slots__},
                "received_client_us": (row.received_client_us or 0) + 9e9,
                "clock_offset_us": (row.clock_offset_us or 0) - 9e9,
            }
        )
        for row in records[3].deliveries
    ]
    reloaded = a_trial(moved, plan=PLAN, clients=2, arm=Arm("socketio", "socketio"), block=1, index=3)

    (found,) = study_methods([*records[:3], reloaded], *NAMES, counting={(2, 1)})

    assert [each.block for each in found.blocks] == [1]
    assert found.first.difference_ms == pytest.approx(0.0, abs=1e-3)
