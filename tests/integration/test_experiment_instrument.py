"""What the server records of a trial, on real sockets: every part of every delay, and what went over the wire."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.core.plan.scenario import Arm
from app.core.trial import RunRecord, TrialRecord
from app.lab.analysis.metrics.split import split
from app.lab.analysis.validity.checks import check_trial
from app.lab.run import runner, server_process
from app.lab.run.api import Server
from app.lab.run.progress import Progress
from app.store import run_ids as naming
from app.store.store import Store
from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support import lab
from tests.support.server import RunningServer, running_server
from tests.support.streams import sse

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel's stamps and TCP_INFO are Linux's"),
]

CLIENTS = 5

ORDER: dict[str, Any] = {
    "run": "recorded",
    "trial": 0,
    "block": 0,
    "transport": "sse",
    "notifications": 5,
    "warmup_notifications": 0,
    "rate_hz": 100,
    "payload_bytes": 512,
    "start_after_ms": 50,
    "drain_ms": 0,
    "instrument": True,
}

SLACK_US = 100
"""The wall clock, by which kernels stamp, may be slewed a little between two readings of its offset."""


def run_short_plan(server: Server, runs_dir: Path, **changes: object) -> RunRecord:
    folder = runner.run_plan(
        lab.short_plan(client_counts=(CLIENTS,), instrument=True, idle_s=0.0, drain_s=30.0, **changes),
        server=server,
        runs_dir=runs_dir,
        run_id=naming.new_run_id(),
        progress=Progress(),
    )
    with Store.open(folder) as store:
        return store.load()


def accepted_of(trial: TrialRecord) -> dict[tuple[int, int], int]:
    """When the server wrote what to whom, by (client, seq)."""
    assert trial.instrument is not None
    return {
        (each.client, seq): accepted_us
        for each in trial.instrument.connections
        if each.client is not None
        for seq, accepted_us in each.accepted
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    runs_dir = tmp_path_factory.mktemp("runs")
    with server_process.start(runs_dir=runs_dir, settings={"SIAR_RECORDER": "0"}) as started:
        return run_short_plan(started.server, runs_dir)


def test_every_delivery_of_both_transports_has_its_time(run: RunRecord) -> None:
    for trial in run.trials:
        assert trial.instrument is not None
        assert (trial.instrument.absent, trial.instrument.dropped) == (None, 0)
        assert {each.client for each in trial.instrument.connections} == set(range(CLIENTS))
        assert set(accepted_of(trial)) == {(client, seq) for client in range(CLIENTS) for seq in range(25)}


@pytest.mark.nightly
@pytest.mark.alone
def test_the_kernel_took_it_after_it_was_sent_and_before_it_was_received(run: RunRecord) -> None:
    for trial in run.trials:
        accepted = accepted_of(trial)
        for each in trial.deliveries:
            accepted_us = accepted[each.client, each.seq]
            assert each.sent_us is not None
            assert each.received_us is not None
            assert each.clock_bound_us is not None
            assert each.sent_us <= accepted_us <= each.received_us + each.clock_bound_us
            if each.kernel_received_us is not None:
                assert accepted_us <= each.kernel_received_us + 2 * each.clock_bound_us + SLACK_US


@pytest.mark.nightly
@pytest.mark.alone
def test_the_parts_add_up_to_the_delay(run: RunRecord) -> None:
    for trial in run.trials:
        found = split(trial)
        assert found is not None
        assert found.deliveries > CLIENTS * 10
        samples = [
            each for each in trial.deliveries if not each.warmup and each.kernel_received_us is not None
        ]
        whole = sum(each.delay_ms or 0.0 for each in samples) / len(samples)
        parts = (found.source_ms, found.server_ms, found.network_ms, found.client_ms)
        # Means over clients of clients' means: as many samples each, but for one or two without a stamp.
        assert sum(each.mean or 0.0 for each in parts) == pytest.approx(whole, rel=0.25)
        assert found.spread_ms_p50 is not None
        assert 0 < found.spread_ms_p50 < 100


@pytest.mark.nightly
@pytest.mark.alone
def test_the_wire_carries_the_payload_and_two_headers(run: RunRecord) -> None:
    """A notification is one segment of 512 bytes and framing, and its acknowledgement another."""
    for trial in run.trials:
        found = split(trial)
        assert found is not None
        payload = found.wire.payload_per_notification
        assert payload is not None
        assert 512 < payload < 600
        assert found.wire.bytes_per_notification is not None
        assert 512 + 2 * 40 < found.wire.bytes_per_notification < 800
        assert found.wire.segments_per_notification == pytest.approx(1.0, abs=0.2)


@pytest.mark.nightly
@pytest.mark.alone
def test_no_client_is_always_written_to_first(run: RunRecord) -> None:
    """By the kernel's receive stamps: what one call of io_uring wrote shares the server's own."""
    for trial in run.trials:
        received = {
            (each.client, each.seq): each.kernel_received_us or sys.maxsize for each in trial.deliveries
        }
        first = {min(range(CLIENTS), key=lambda client: received[client, seq]) for seq in range(25)}
        assert len(first) > 1


def test_the_stock_path_has_no_split_and_says_why(tmp_path: Path) -> None:
    settings = {"SIAR_RECORDER": "0", "SIAR_FANOUT": "stock"}
    with server_process.start(runs_dir=tmp_path, settings=settings) as started:
        run = run_short_plan(started.server, tmp_path)

    for trial in run.trials:
        assert trial.instrument is not None
        assert "stock path" in (trial.instrument.absent or "")
        assert split(trial) is None


def test_through_a_proxy_connections_are_nobody_s_and_the_parts_unknown(tmp_path: Path) -> None:
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started:
        port = urlsplit(started.server.url).port or 0
        with TcpProxy("127.0.0.1", port) as proxy:
            run = run_short_plan(started.server, tmp_path, arms=(Arm("far", "sse", {"via": proxy.url}),))

    (trial,) = run.trials
    found = split(trial)
    assert trial.instrument is not None
    assert {each.client for each in trial.instrument.connections} == {None}
    assert found is not None
    assert (found.deliveries, found.unmatched) == (0, CLIENTS * 20)
    assert found.server_ms.p50 is found.wire.bytes_per_notification is None
    assert "not_recorded" in {each.code for each in check_trial(trial, run.plan)}


def test_another_green_thread_library_records_as_well(tmp_path: Path) -> None:
    settings = {"SIAR_RECORDER": "0", "SIAR_GREEN_THREADS": "gevent"}
    with server_process.start(runs_dir=tmp_path, settings=settings) as started:
        run = run_short_plan(started.server, tmp_path)

    for trial in run.trials:
        assert len(accepted_of(trial)) == CLIENTS * 25


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server"), recorder=0) as running:
        yield running


def test_a_recording_is_the_operator_s_and_there_only_when_it_was_ordered(server: RunningServer) -> None:
    order = {**ORDER, "trial": 1, "instrument": False}
    with sse(server.port) as stream:
        assert server.request("POST", "/api/trials", order)[0] == 201
        for _ in range(5):
            stream.next_notification()
    server.request("DELETE", "/api/trials/recorded/1")

    assert server.request("GET", "/api/trials/recorded/1/instrument")[0] == 404
    assert server.request("GET", "/api/trials/recorded/1/instrument", token="wrong")[0] in (401, 403)


def test_a_running_trial_s_recording_is_refused_and_a_closed_one_s_is_given(server: RunningServer) -> None:
    with sse(server.port) as stream:
        assert server.request("POST", "/api/trials", {**ORDER, "trial": 2, "start_after_ms": 3_000})[0] == 201
        assert server.request("GET", "/api/trials/recorded/2/instrument")[0] == 409
        for _ in range(5):
            stream.next_notification()
        server.request("DELETE", "/api/trials/recorded/2")

        status, answer = server.request("GET", "/api/trials/recorded/2/instrument")

    assert (status, answer["absent"], answer["dropped"]) == (200, None, 0)
    (connection,) = answer["connections"]
    assert all(0 <= after_sent_us < 60_000_000 for after_sent_us in connection["accepted_us"])
    assert connection["after"]["bytes_sent"] - connection["before"]["bytes_sent"] > 5 * 512


def test_a_later_trial_takes_the_place_of_a_recording(server: RunningServer) -> None:
    with sse(server.port) as stream:
        for number in (3, 4):
            assert server.request("POST", "/api/trials", {**ORDER, "trial": number})[0] == 201
            for _ in range(5):
                stream.next_notification()
            server.request("DELETE", f"/api/trials/recorded/{number}")

    assert server.request("GET", "/api/trials/recorded/3/instrument")[0] == 404
    assert server.request("GET", "/api/trials/recorded/4/instrument")[0] == 200
