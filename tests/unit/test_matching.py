"""What was published against what arrived: each expected delivery has one outcome."""

from app.core.clocksync.sync import ClockSync, Probe
from app.core.delivery import Outcome, SampleState
from app.core.plan.scenario import TrialSpec
from app.lab.run import matching
from app.lab.run.clients import Arrival
from app.store.store import Published
from tests.support import records

OFFSET_US = 1_000_000
"""Server minus client, in these tests."""

FIRST_DUE_US = OFFSET_US + 50_000
PLAN = records.plan(notifications=2, warmup_notifications=1, drain_s=0.5)
SPEC = TrialSpec(0, 0, 1, PLAN.arms[0])


def synchronised() -> ClockSync:
    clock = ClockSync(quantum_us=1, wander_us=1)
    for t1_us in range(0, 1_200_000, 100_000):
        clock.add(Probe(t1_us, t1_us + OFFSET_US + 20, t1_us + OFFSET_US + 30, t1_us + 50))
    return clock


def published(count: int) -> list[Published]:
    return [
        Published(i, 40 + i, FIRST_DUE_US + i * 10_000, FIRST_DUE_US + i * 10_000 + 100) for i in range(count)
    ]


def outcomes(arrivals: list[Arrival], count: int = 3) -> list[tuple[int, Outcome, SampleState]]:
    expected = matching.expected_of(PLAN, FIRST_DUE_US, published(count))
    found = matching.deliveries(SPEC, PLAN, expected, {0: arrivals}, synchronised())
    return [(each.seq, each.outcome, each.state) for each in found]


def arrival(seq: int, *, after_us: int = 1000, replayed: bool = False) -> Arrival:
    return Arrival(seq, 40 + seq, 50_000 + seq * 10_000 + after_us, None, replayed)


def test_every_expected_notification_has_one_outcome() -> None:
    assert outcomes([arrival(0), arrival(1, after_us=600_000)]) == [
        (0, Outcome.ON_TIME, SampleState.WARMUP),
        (1, Outcome.LATE, SampleState.OK),
        (2, Outcome.LOST, SampleState.OK),
    ]


def test_a_second_arrival_is_an_extra_row() -> None:
    assert outcomes([arrival(0), arrival(1), arrival(2), arrival(1, after_us=3000)])[1:] == [
        (1, Outcome.ON_TIME, SampleState.OK),
        (1, Outcome.DUPLICATE, SampleState.OK),
        (2, Outcome.ON_TIME, SampleState.OK),
    ]


def test_a_replay_is_named_and_left_out_of_delays() -> None:
    assert outcomes([arrival(0), arrival(1), arrival(2, replayed=True)])[2] == (
        2,
        Outcome.REPLAYED,
        SampleState.REPLAY,
    )


def test_what_the_source_never_published_is_lost_at_its_place_in_the_schedule() -> None:
    expected = matching.expected_of(PLAN, FIRST_DUE_US, published(2))

    assert (expected[2].due_us, expected[2].offset, expected[2].sent_us) == (
        FIRST_DUE_US + 20_000,
        None,
        None,
    )


def test_an_arrival_without_a_clock_has_no_delay_and_says_why() -> None:
    expected = matching.expected_of(PLAN, FIRST_DUE_US, published(3))
    arrivals = {0: [Arrival(1, 41, 61_000, 60_900.0, False)]}

    found = list(matching.deliveries(SPEC, PLAN, expected, arrivals, ClockSync()))

    assert (found[1].state, found[1].delay_ms, found[1].kernel_received_us) == (
        SampleState.NO_CLOCK,
        None,
        None,
    )
