"""Whose kernel stamp counts as missing, and what the generator added: of first arrivals, replays aside."""

from __future__ import annotations

from app.tools.load.arrivals import Stamps, arrived
from app.tools.load.generators import REPLAYED, SHARED, GeneratorRow


def row(
    seq: int = 0, *, client: int = 0, read_us: int = 1_500, kernel_us: int = 1_000, flags: int = 0
) -> GeneratorRow:
    """One arrival that its kernel received half a millisecond before it was read."""
    return GeneratorRow(client, seq, seq + 100, 1000 * read_us, 1000 * kernel_us, flags)


def test_an_arrival_with_a_stamp_of_its_own_was_received_when_its_kernel_received_it() -> None:
    found = arrived([row(read_us=1_500, kernel_us=1_000)])

    (arrival,) = found.by_client[0]
    assert (arrival.received_us, arrival.kernel_us, arrival.replayed) == (1_000, 1_000.0, False)
    assert found.generator_delays_us == {(0, 0): 500.0}
    assert found.stamps == Stamps(arrivals=1, missing=0, shared=0)


def test_an_arrival_that_shares_its_read_or_has_no_stamp_counts_from_the_read() -> None:
    found = arrived([row(0, flags=SHARED), row(1, kernel_us=0)])

    assert [(each.received_us, each.kernel_us) for each in found.by_client[0]] == [(1_500, None)] * 2
    assert found.generator_delays_us == {}
    assert found.stamps == Stamps(arrivals=2, missing=2, shared=1)


def test_what_comes_again_or_is_replayed_is_no_missing_stamp() -> None:
    """A server that doubles everything, or that breaks connections, has said nothing about the generator."""
    doubled = [row(seq) for seq in range(50) for _ in range(2)]
    replayed = [row(seq, kernel_us=0, flags=REPLAYED) for seq in range(50, 60)]

    found = arrived([*doubled, *replayed])

    assert len(found.by_client[0]) == 110
    assert found.stamps == Stamps(arrivals=50, missing=0, shared=0)


def test_what_came_again_behind_a_replay_is_no_first_arrival() -> None:
    found = arrived([row(0, kernel_us=0, flags=REPLAYED), row(0, flags=SHARED)])

    assert found.stamps == Stamps()


def test_what_the_generator_added_is_the_first_arrivals() -> None:
    found = arrived([row(read_us=1_500), row(read_us=9_000), row(1, flags=SHARED), row(1)])

    assert found.generator_delays_us == {(0, 0): 500.0}
    assert found.stamps == Stamps(arrivals=2, missing=1, shared=1)


def test_clients_are_kept_apart_and_in_the_order_in_which_they_read() -> None:
    found = arrived([row(1, client=7), row(0, client=3), row(0, client=7)])

    assert {client: [each.seq for each in own] for client, own in found.by_client.items()} == {
        7: [1, 0],
        3: [0],
    }
    assert found.stamps.arrivals == 3
