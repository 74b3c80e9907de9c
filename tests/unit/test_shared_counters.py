"""What several processes have counted, as the counters of one server."""

from __future__ import annotations

from app.core.totals import counters_only, total
from app.server.wsgi.shared_counters import HALF_BYTES, SharedCounters


def test_numbers_of_processes_add_up_by_their_labels() -> None:
    one = {"siar_deliveries": [(("sse",), 3.0)], "siar_connections": [(("sse",), 1.0)]}
    other = {"siar_deliveries": [(("sse",), 4.0), (("socketio",), 5.0)]}

    found = total([one, other])

    assert found["siar_deliveries"] == [(("socketio",), 5.0), (("sse",), 7.0)]
    assert found["siar_connections"] == [(("sse",), 1.0)]


def test_what_every_process_says_of_the_same_thing_is_not_added_up() -> None:
    processes = [{"siar_notifications": [((), offset)]} for offset in (20.0, 19.0)]

    assert total(processes)["siar_notifications"] == [((), 20.0)]


def test_of_processes_that_ended_only_their_counters_stay() -> None:
    counted: dict[str, list[tuple[tuple[str, ...], float]]] = {
        "siar_deliveries": [(("sse",), 3.0)],
        "siar_connections": [(("sse",), 1.0)],
        "siar_processes": [((), 1.0)],
    }

    assert counters_only(counted) == {"siar_deliveries": [(("sse",), 3.0)]}


def test_what_one_puts_up_another_reads_the_newest_of() -> None:
    counters = SharedCounters(2)

    for count in range(5):
        counters.write(1, {"siar_deliveries": [[["sse"], count]]})
        counters.write(2, {"siar_deliveries": [[["sse"], 10 * count]]})

    assert counters.read_all() == [{"siar_deliveries": [[["sse"], 4]]}, {"siar_deliveries": [[["sse"], 40]]}]


def test_a_worker_that_ended_leaves_its_counters_and_its_place() -> None:
    counters = SharedCounters(1)
    for count in (3, 4):
        slot = counters.free_slot([])
        counters.write(slot, {"siar_deliveries": [[["sse"], count]], "siar_connections": [[["sse"], 1]]})
        counters.end(slot, lambda counted: counters_only(total(counted)))

    assert counters.read_all() == [{"siar_deliveries": [[["sse"], 7]]}]


def test_two_workers_never_share_a_place() -> None:
    counters = SharedCounters(2)

    first = counters.free_slot([])

    assert counters.free_slot([first]) != first
    assert 0 not in (first, counters.free_slot([first]))


def test_what_does_not_fit_leaves_what_was_there() -> None:
    counters = SharedCounters(1)
    counters.write(1, {"short": []})

    counters.write(1, {"long": ["x" * HALF_BYTES]})

    assert counters.read(1) == {"short": []}
