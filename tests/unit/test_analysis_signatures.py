"""Each signature: what shows it, what just does not."""

import random
from dataclasses import replace

import pytest

from app.core.delivery import Delivery
from app.core.trial import Severity
from app.lab.analysis.validity.signatures import (
    BEACON_MS,
    CHECKED_MAX,
    MODES,
    mean_resultant_length,
    mode_share,
    signatures,
)
from app.lab.analysis.validity.trial_warnings import texts
from tests.unit.support_run import a_delivery, a_plan, a_trial

COUNT = 40
PLAN = replace(a_plan(client_counts=(1,), notifications=COUNT, warmup=0), rate_hz=10.0)
PERIOD_MS = 100.0


def rows(delays_ms: list[float], *, client: int = 0) -> list[Delivery]:
    return [
        a_delivery(client=client, seq=seq, due_ms=seq * PERIOD_MS, delay_ms=delay)
        for seq, delay in enumerate(delays_ms)
    ]


def drawn(middle_ms: float, spread_ms: float, *, count: int = COUNT, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [max(0.1, rng.gauss(middle_ms, spread_ms)) for _ in range(count)]


def codes(delays_ms: list[float]) -> set[str]:
    found = signatures(a_trial(rows(delays_ms), plan=PLAN), PLAN)
    assert all(each.severity is Severity.NOTE and all(texts(each).values()) for each in found)
    return {each.code for each in found}


@pytest.mark.parametrize(
    ("delays_ms", "expected"),
    [
        (drawn(1.0, 0.2), set()),
        (drawn(43.6, 0.5), {"signature_nagle"}),
        (drawn(200.0, 2.0), {"signature_nagle"}),
        (drawn(1.0, 0.2)[:25] + drawn(42.0, 1.0)[:15], {"signature_nagle"}),
        (drawn(1.0, 0.2)[:35] + drawn(42.0, 1.0)[:5], set()),  # one in eight is no mode
        (drawn(40.0, 20.0), set()),  # a wide distribution that straddles 40 ms
        (drawn(102.4, 1.5), {"signature_beacon"}),
        (drawn(43.6, 0.5)[:20], {"signature_nagle"}),  # just enough
        (drawn(43.6, 0.5)[:19], set()),  # too few to tell
    ],
)
def test_a_mode_needs_its_place_its_share_and_nothing_beside(
    delays_ms: list[float], expected: set[str]
) -> None:
    assert codes(delays_ms) == expected


def test_frames_held_until_the_next_beacon_are_seen_though_no_delay_stands_out() -> None:
    sent_ms = [seq * 137.0 for seq in range(60)]
    delays = [BEACON_MS - sent % BEACON_MS + 0.3 for sent in sent_ms]
    held = [
        a_delivery(seq=seq, due_ms=sent, delay_ms=delay)
        for seq, (sent, delay) in enumerate(zip(sent_ms, delays, strict=True))
    ]
    plan = replace(PLAN, notifications=60, rate_hz=1000 / 137)

    found = signatures(a_trial(held, plan=plan), plan)

    assert [each.code for each in found] == ["signature_beacon"]
    assert "keep step" in texts(found[0])["text"]


def test_frames_are_held_until_beacons_for_minutes_too() -> None:
    """A beacon that is a thousandth off would be out of step by then."""
    sent_ms = [seq * 137.0 for seq in range(1000)]
    held = [
        a_delivery(seq=seq, due_ms=sent, delay_ms=BEACON_MS - sent % BEACON_MS + 0.3)
        for seq, sent in enumerate(sent_ms)
    ]
    plan = replace(PLAN, notifications=1000, rate_hz=1000 / 137)

    assert [each.code for each in signatures(a_trial(held, plan=plan), plan)] == ["signature_beacon"]


@pytest.mark.parametrize(("slow", "expected"), [(30, ["signature_beacon"]), (29, [])])
def test_half_of_a_clients_arrivals_must_have_been_slow_to_be_in_step(slow: int, expected: list[str]) -> None:
    sent_ms = [seq * 137.0 for seq in range(60)]
    held = [
        a_delivery(
            seq=seq, due_ms=sent, delay_ms=BEACON_MS - sent % BEACON_MS + BEACON_MS if seq < slow else 0.3
        )
        for seq, sent in enumerate(sent_ms)
    ]
    plan = replace(PLAN, notifications=60, rate_hz=1000 / 137)

    assert [each.code for each in signatures(a_trial(held, plan=plan), plan)] == expected


def test_a_source_that_keeps_step_with_beacons_for_minutes_shows_nothing_either() -> None:
    plan = replace(PLAN, notifications=1000, rate_hz=1000 / BEACON_MS)
    steady = [a_delivery(seq=seq, due_ms=seq * BEACON_MS, delay_ms=20.3) for seq in range(1000)]

    assert signatures(a_trial(steady, plan=plan), plan) == ()


def test_a_source_that_itself_keeps_step_with_beacons_shows_nothing() -> None:
    plan = replace(PLAN, rate_hz=1000 / BEACON_MS)
    steady = [a_delivery(seq=seq, due_ms=seq * BEACON_MS, delay_ms=20.3) for seq in range(COUNT)]

    assert signatures(a_trial(steady, plan=plan), plan) == ()


def test_notifications_that_come_in_bunches_are_batched() -> None:
    # Every fifth moment brings all five that were due since.
    bunched = [400.3 - (seq % 5) * PERIOD_MS + 0.01 * (seq % 5) for seq in range(COUNT)]

    (found,) = signatures(a_trial(rows(bunched), plan=PLAN), PLAN)
    assert found.code == "signature_batching"
    assert texts(found)["text"].startswith("82.05 % of the notifications"), "32 of 39"


@pytest.mark.parametrize(("apart_ms", "expected"), [(9.999, {"signature_batching"}), (10.001, set())])
def test_together_is_within_a_tenth_of_the_period(apart_ms: float, expected: set[str]) -> None:
    # Every second one waits for the next, and nearly meets it.
    pairs = [50.3 + apart_ms if seq % 2 else 150.3 for seq in range(COUNT)]

    assert codes(pairs) == expected


def test_notifications_of_a_fast_source_may_come_together() -> None:
    plan = replace(PLAN, rate_hz=200.0)
    close = [a_delivery(seq=seq, due_ms=5.0 * (seq // 2), delay_ms=1.23) for seq in range(COUNT)]

    assert signatures(a_trial(close, plan=plan), plan) == ()


def test_stamps_on_whole_milliseconds_are_seen_and_one_that_is_not_clears_the_client() -> None:
    whole = [float(1 + seq % 3) for seq in range(COUNT)]

    assert codes(whole) == {"signature_ms_clock"}
    assert codes([*whole[:-1], 1.1]) == set()


def test_of_many_deliveries_every_so_many_th_client_is_looked_at() -> None:
    half = CHECKED_MAX // 2
    plain, delayed = rows(drawn(1.0, 0.2, count=half)), drawn(42.0, 0.5, count=half)

    just = signatures(a_trial([*plain, *rows(delayed, client=1)], plan=PLAN, clients=2), PLAN)
    beyond = signatures(a_trial([*plain, *rows([*delayed, 42.0], client=1)], plan=PLAN, clients=2), PLAN)

    assert [each.code for each in just] == ["signature_nagle"]
    assert beyond == (), "client 1 is passed over"


def test_every_mode_is_where_measurement_md_has_it() -> None:
    assert [(mode.at_ms, mode.reach_ms) for mode in MODES] == [(40.0, 5.0), (200.0, 10.0), (102.4, 5.0)]
    assert mode_share([40.0] * 10, MODES[0]) == 1.0
    assert mode_share([40.0] * 9, MODES[0]) is None  # 1 in 512
    assert mode_share([40.0] * 20 + [1.0] * 80, MODES[0]) is None


def test_moments_a_period_apart_are_in_step_and_spread_ones_are_not() -> None:
    assert mean_resultant_length([3.0, 105.4, 207.8], BEACON_MS) == pytest.approx(1.0)
    assert mean_resultant_length([BEACON_MS * k / 8 for k in range(8)], BEACON_MS) == pytest.approx(
        0.0, abs=1e-12
    )
