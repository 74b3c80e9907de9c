"""What calibration makes of what it found: states, verdict, words; and the proxy that injects."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from rich.console import Console

from app import clock
from app.i18n import LANGUAGES, Words
from app.tools.calibrate import show
from app.tools.calibrate.case import WARMUP, Case, Part, cases
from app.tools.calibrate.proxy import Impairment, Proxy
from app.tools.calibrate.result import BOUND_MS_MAX, CheckResult, CheckRow, Judgement, verdict

RIGHT = CheckRow(Part.DELAY, "held", "sse", "ms", true=50.0, measured=50.1, bound=0.2, places={"ms": 50})
COUNTED = CheckRow(Part.COUNT, "lost", "sse", "notifications", true=20, measured=20, bound=0.0)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (RIGHT, CheckResult.RIGHT),
        (replace(RIGHT, measured=49.85), CheckResult.RIGHT),
        (replace(RIGHT, measured=50.3), CheckResult.WRONG),
        (replace(RIGHT, measured=None), CheckResult.WRONG),
        (replace(RIGHT, bound=BOUND_MS_MAX + 0.1), CheckResult.WIDE),
        (replace(RIGHT, bound=BOUND_MS_MAX + 0.1, measured=90.0), CheckResult.WRONG),
        (replace(RIGHT, inside=(219, 220)), CheckResult.WRONG),
        (replace(RIGHT, inside=(220, 220)), CheckResult.RIGHT),
        (COUNTED, CheckResult.RIGHT),
        (replace(COUNTED, measured=19), CheckResult.WRONG),
    ],
)
def test_a_row_is_right_only_inside_its_own_bound(row: CheckRow, state: CheckResult) -> None:
    assert row.state is state


@pytest.mark.parametrize(
    ("rows", "judgement"),
    [
        ([], Judgement.WRONG),
        ([RIGHT, COUNTED], Judgement.RIGHT),
        ([RIGHT, replace(RIGHT, bound=9.0)], Judgement.WIDE),
        ([replace(RIGHT, bound=9.0), replace(COUNTED, measured=21)], Judgement.WRONG),
    ],
)
def test_one_broken_word_is_enough_and_nothing_shown_is_no_tick(
    rows: list[CheckRow], judgement: Judgement
) -> None:
    assert verdict(rows).judgement is judgement


def test_the_verdict_tells_the_largest_error_and_how_much_was_miscounted() -> None:
    found = verdict([RIGHT, replace(RIGHT, measured=49.85, bound=0.4), replace(COUNTED, measured=17)])

    assert found.error_ms["delay"] == pytest.approx(0.15)
    assert found.bound_ms["delay"] == 0.4
    assert found.miscounted == 3


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", Judgement)
def test_every_verdict_can_be_said(language: str, judgement: Judgement) -> None:
    said = show.sentences(
        replace(verdict([RIGHT, COUNTED]), judgement=judgement), Words(language, "calibrate")
    )

    assert len(said) == 3
    assert "{" not in "".join(said)


def test_an_error_that_was_injected_is_told_apart_from_the_clocks_own() -> None:
    own = CheckRow(Part.CLOCK, "skewed", "sse", "ms", true=0.0, measured=0.02, bound=0.1, inside=(9, 9))
    slower_back = replace(own, code="asymmetric", measured=2.0, bound=2.2)

    found = verdict([own, slower_back])

    assert (found.error_ms["clock"], found.error_ms["asymmetric"]) == (0.02, 2.0)
    assert (found.stamps_inside, found.stamps) == (18, 18)


def test_indonesian_has_commas() -> None:
    cells = show.cells(replace(RIGHT, true=3_600_000.0421), Words("id", "calibrate"))

    assert cells[0] == "ditahan 50 ms"
    assert cells[1] == "3.600.000,042"
    assert cells[4] == "± 0,200"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_figure_is_cut_off_on_a_terminal_of_80_columns(language: str) -> None:
    wrong_clock = CheckRow(
        Part.CLOCK,
        "skewed",
        "sse",
        "ms",
        -86_400_000.194,
        -86_400_000.208,
        0.136,
        {"skew_ppm": "-80"},
        (220, 220),
    )
    file = io.StringIO()

    show.print_result(
        [RIGHT, wrong_clock, COUNTED],
        verdict([RIGHT, wrong_clock, COUNTED]),
        Words(language, "calibrate"),
        Console(file=file, width=80, force_terminal=False),
    )

    table = [line for line in file.getvalue().splitlines() if "220/220" in line]
    assert len(table) == 1
    assert len(table[0].rstrip()) <= 80
    assert "…" not in file.getvalue()


def test_the_json_has_codes_for_programs_and_no_nan() -> None:
    rows = [RIGHT, replace(COUNTED, measured=19)]

    text = show.as_json(
        rows,
        verdict(rows),
        Words("en", "calibrate"),
        conditions={"cores": 2},
        lags_ms_p99={"0 sse near": None},
    )

    found = json.loads(text)
    assert (found["verdict"], found["right"], found["miscounted"]) == ("wrong", False, 1)
    assert [row["state"] for row in found["rows"]] == ["right", "wrong"]
    assert found["rows"][0]["error"] == pytest.approx(0.1)


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_throws_the_same_dice_and_nothing_is_both_lost_and_doubled(*, quick: bool) -> None:
    first, again = (cases(quick=quick, notifications=50) for _ in range(2))

    assert first == again
    for case in first:
        injected = case.impairment
        chosen = [*injected.dropped, *injected.repeated, *injected.swapped]
        assert len(set(chosen)) == len(chosen)
        assert all(WARMUP <= seq < WARMUP + 50 for seq in chosen)
        assert {seq + 1 for seq in injected.swapped}.isdisjoint(chosen)


def test_each_transport_gets_the_same_parts() -> None:
    parts: dict[str, list[Part]] = {}
    for case in cases(quick=False, notifications=50):
        parts.setdefault(case.transport, []).append(case.part)

    assert set(parts["sse"]) == set(Part)
    assert parts["sse"] == parts["socketio"]


def message(seq: int) -> bytes:
    return b'{"data":{"trial":{"seq":%d}}}\n' % seq


@contextmanager
def through(impairment: Impairment) -> Iterator[tuple[Proxy, socket.socket, socket.socket]]:
    """A proxy, the server's end of the connection behind it and the client's."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Proxy("127.0.0.1", listener.getsockname()[1], impairment) as proxy,
        joined(proxy, listener) as (server, client),
    ):
        yield proxy, server, client


@contextmanager
def joined(proxy: Proxy, listener: socket.socket) -> Iterator[tuple[socket.socket, socket.socket]]:
    """One connection through the proxy: the server's end and the client's."""
    with socket.create_connection(("127.0.0.1", proxy.own_port), timeout=10) as client:
        server, _ = listener.accept()
        with server:
            yield server, client


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.001)


def lines_of(client: socket.socket, count: int) -> list[bytes]:
    with client.makefile("rb") as file:
        return [file.readline() for _ in range(count)]


def test_who_waits_to_be_let_through_again_is_ended_with_the_proxy() -> None:
    """Else its connections would stand on, with threads that nobody can end."""
    with through(Impairment(cut_at=0, outage_us=300_000)) as (proxy, server, _):
        server.sendall(message(0))
        wait_until(lambda: proxy.cut_us is not None)
        waiting = socket.create_connection(("127.0.0.1", proxy.own_port), timeout=10)

    with waiting, contextlib.suppress(ConnectionResetError):
        assert waiting.recv(1) == b""


def test_the_proxy_takes_out_doubles_and_swaps_whole_notifications() -> None:
    injected = Impairment(dropped=frozenset({1}), repeated=frozenset({2}), swapped=frozenset({3}))

    with through(injected) as (proxy, server, client):

        def has_received(count: int) -> Callable[[], bool]:
            return lambda: len(proxy.received) == count

        for seq in range(6):
            server.sendall(message(seq))
            wait_until(has_received(seq + 1))  # So that no read finds two.
        found = lines_of(client, 6)
        wait_until(lambda: len(proxy.passages) == 6)

    assert found == [message(seq) for seq in (0, 2, 2, 4, 3, 5)]
    assert [each.seq for each in proxy.passages] == [0, 2, 2, 4, 3, 5]


def test_the_proxy_holds_for_as_long_as_it_is_told_and_says_how_long_that_was() -> None:
    with through(Impairment(delay_us=20_000, delays_us=(0, 30_000))) as (proxy, server, client):
        sent_us = clock.monotonic_us()
        server.sendall(message(0))
        lines_of(client, 1)
        took_us = clock.monotonic_us() - sent_us
        server.sendall(message(1))
        lines_of(client, 1)

    wait_until(
        lambda: len(proxy.passages) == 2
    )  # Told right behind the write, which the client may overtake.
    first, second = proxy.passages
    assert 20_000 <= first.held_us <= took_us
    assert second.held_us >= 50_000


def test_the_proxy_cuts_once_and_lets_who_comes_back_in_afterwards() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Proxy("127.0.0.1", listener.getsockname()[1], Impairment(cut_at=1, outage_us=100_000)) as proxy,
    ):
        with joined(proxy, listener) as (server, client):
            server.sendall(message(0))
            assert lines_of(client, 1) == [message(0)]
            server.sendall(message(1))
            assert client.recv(100) == b""
        with joined(proxy, listener) as (server, client):
            back_us = clock.monotonic_us()
            server.sendall(message(2))
            assert lines_of(client, 1) == [message(2)]
        wait_until(lambda: len(proxy.passages) == 2)

    assert proxy.cut_us is not None
    assert back_us - proxy.cut_us >= 100_000
    assert [(each.connection, each.seq) for each in proxy.passages] == [(0, 0), (1, 2)]


def test_what_holds_no_notification_passes_as_it_is() -> None:
    with through(Impairment(dropped=frozenset({0}))) as (proxy, server, client):
        server.sendall(b"HTTP/1.1 200 OK\r\n")

        assert client.recv(100) == b"HTTP/1.1 200 OK\r\n"
        assert proxy.passages == []


def test_a_case_knows_what_it_is_without_its_proxy() -> None:
    assert Case(Part.DELAY, "near", "sse").impairment == Impairment()
