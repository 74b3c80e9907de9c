"""Clients that lose their connection in a trial come back, and what they missed is counted for what it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.core.delivery import Outcome, SampleState
from app.core.plan.scenario import Arm
from app.lab.analysis.metrics.cpu import deliveries_in_window
from app.lab.run import runner, server_process
from app.lab.run.api import Server
from app.lab.run.progress import Progress
from app.store.store import Store
from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support import lab
from tests.support.proxy import calling_at, delayed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    runs_dir = tmp_path_factory.mktemp("runs")
    with server_process.start(runs_dir=runs_dir, settings={"SIAR_RECORDER": "0"}) as started:
        yield started.server


@pytest.mark.parametrize("transport", ["sse", pytest.param("socketio", marks=pytest.mark.slow)])
def test_a_broken_connection_costs_no_notification_and_is_counted(
    server: Server, tmp_path: Path, transport: str
) -> None:
    port = urlsplit(server.url).port or 0
    cut_once = calling_at(100, lambda: proxy.cut(away_s=0.3))
    with TcpProxy("127.0.0.1", port, to_client=cut_once) as proxy:
        folder = runner.run_plan(
            lab.short_plan(
                arms=(Arm("far", transport, {"via": proxy.url}),),
                idle_s=0.0,
                notifications=120,
                rate_hz=100.0,
                drain_s=30.0,
                extra_blocks_max=1,
            ),
            server=server,
            runs_dir=tmp_path,
            run_id=f"cut-{transport}",
            progress=Progress(),
        )

    with Store.open(folder) as store:
        trial, again = store.load().trials
    outcomes = [each.outcome for each in trial.deliveries]
    replayed = [each for each in trial.deliveries if each.outcome is Outcome.REPLAYED]
    assert trial.disconnects == 2
    assert set(outcomes) == {Outcome.ON_TIME, Outcome.REPLAYED}
    assert len(outcomes) == 2 * 125
    assert {each.state for each in replayed} == {SampleState.REPLAY}
    assert {each.client for each in replayed} == {0, 1}
    # The block is void by that, and is repeated under a number of its own.
    assert (trial.spec.block, again.spec.block, again.disconnects) == (0, 1, 0)
    assert {each.outcome for each in again.deliveries} == {Outcome.ON_TIME}


@pytest.mark.nightly
@pytest.mark.alone
def test_the_cpu_window_does_not_wait_for_what_comes_after_the_last_due_time(
    server: Server, tmp_path: Path
) -> None:
    port = urlsplit(server.url).port or 0
    plan = lab.short_plan(idle_s=0.0, drain_s=3.0, settle_s=0.5, blocks=2)
    with TcpProxy("127.0.0.1", port, to_client=delayed(0.8)) as proxy:
        folder = runner.run_plan(
            replace(plan, arms=(Arm("near", "sse"), Arm("late", "sse", {"via": proxy.url}))),
            server=server,
            runs_dir=tmp_path,
            run_id="late",
            progress=Progress(),
        )

    with Store.open(folder) as store:
        measured = store.load().trials
    # A machine that stalls opens a window late and says so: then the other block is looked at.
    in_time = [each for each in measured if all(w.code != "cpu_window_late" for w in each.warnings)]
    trials = {trial.spec.arm.name: trial for trial in in_time}
    assert trials.keys() == {"near", "late"}
    for trial in trials.values():
        last_due_us = max(each.due_us for each in trial.deliveries)
        assert trial.cpu is not None
        # 20 ms before the first, 24 steps of 10 ms, at most 100 ms after the last, and what a wake-up takes on a busy
        # machine; what comes late comes 0.8 s after the last.
        assert 0.24 < trial.cpu.wall_s < 0.24 + 0.02 + 0.1 + 0.5
        assert trial.ended_us >= last_due_us
        assert {each.outcome for each in trial.deliveries} == {Outcome.ON_TIME}
        assert deliveries_in_window(trial) == len(trial.deliveries) == 2 * 25
    assert trials["late"].ended_us >= max(each.due_us for each in trials["late"].deliveries) + 100_000
