"""A short experiment against the real server, with the real clients' process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.core.delivery import Outcome, SampleState
from app.core.errors import Unfit
from app.core.trial import RunRecord
from app.lab.run import runner, server_process
from app.lab.run.api import Server
from app.lab.run.progress import Progress
from app.store import run_ids as naming
from app.store.store import Store
from tests.support import lab

DRAIN_S = 30.0
"""How late an arrival may be; a trial ends when all are there."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    runs_dir = tmp_path_factory.mktemp("runs")
    with server_process.start(runs_dir=runs_dir, settings={"SIAR_RECORDER": "0"}) as started:
        yield started.server


@pytest.fixture(scope="module")
def folder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runner.run_plan(
        lab.short_plan(drain_s=DRAIN_S),
        server=server,
        runs_dir=tmp_path_factory.mktemp("runs"),
        run_id=naming.new_run_id(),
        progress=Progress(),
    )


@pytest.fixture(scope="module")
def run(folder: Path) -> RunRecord:
    with Store.open(folder) as store:
        return store.load()


def test_everything_is_delivered_once_in_order_and_on_time(run: RunRecord) -> None:
    trials = [trial for trial in run.trials if not trial.spec.idle]

    assert run.complete
    assert {trial.spec.arm.name for trial in trials} == {"sse", "socketio"}
    for trial in trials:
        assert trial.published == 25
        assert [(each.client, each.seq) for each in trial.deliveries] == [
            (client, seq) for client in range(2) for seq in range(25)
        ]
        assert {each.outcome for each in trial.deliveries} == {Outcome.ON_TIME}
        assert [each.warmup for each in trial.deliveries[:25]] == [True] * 5 + [False] * 20
        for client in range(2):
            offsets = [each.offset for each in trial.deliveries if each.client == client]
            assert offsets == sorted(offsets, key=lambda offset: offset or 0)


@pytest.mark.nightly
@pytest.mark.alone
def test_delays_are_positive_and_the_clock_s_bound_is_far_below_a_millisecond(run: RunRecord) -> None:
    samples = [each for trial in run.trials for each in trial.deliveries if not each.warmup]

    assert {each.state for each in samples} == {SampleState.OK}
    for each in samples:
        assert each.delay_ms is not None
        assert each.clock_bound_us is not None
        assert 0 < each.delay_ms < 1000
        assert each.clock_bound_us < 1000


@pytest.mark.nightly
@pytest.mark.alone
def test_the_kernel_s_stamp_lies_between_sending_and_reading(run: RunRecord) -> None:
    samples = [each for trial in run.trials for each in trial.deliveries]
    stamped = [each for each in samples if each.kernel_received_us is not None]

    assert not psutil.LINUX or len(stamped) > len(samples) / 2
    for each in stamped:
        assert each.sent_us is not None
        assert each.received_us is not None
        assert each.kernel_received_us is not None
        assert each.clock_bound_us is not None
        # The wall clock may be slewed a little between two readings of its offset.
        slack_us = 2 * each.clock_bound_us + 100
        assert each.sent_us - slack_us <= each.kernel_received_us <= each.received_us + slack_us


@pytest.mark.nightly
@pytest.mark.alone
def test_cpu_is_measured_and_an_idle_server_uses_less(run: RunRecord) -> None:
    idle = [trial.cpu for trial in run.trials if trial.spec.idle]
    busy = [trial.cpu for trial in run.trials if not trial.spec.idle]

    assert len(idle) == 1
    assert idle[0] is not None
    for cpu in busy:
        assert cpu is not None
        assert cpu.total_s / cpu.wall_s > idle[0].total_s / idle[0].wall_s
        assert cpu.wall_s == pytest.approx(0.26, abs=0.2)


def test_the_instrument_reports_its_own_errors(run: RunRecord) -> None:
    for trial in run.trials:
        if not trial.spec.idle:
            assert len(trial.source_lag_us) == 20
            assert trial.client_loop_lag_ms_p99 is None or trial.client_loop_lag_ms_p99 >= 0
            assert trial.client_cpu_s is not None
            assert (trial.disconnects, trial.completed) == (0, True)


def test_raw_probes_and_publications_are_kept(folder: Path, run: RunRecord) -> None:
    with Store.open(folder) as store:
        assert store.probes()
        trial = next(trial for trial in run.trials if not trial.spec.idle)
        published = store.published(trial.spec.index)

    assert [each.sent_us - each.due_us for each in published[5:]] == list(trial.source_lag_us)
    assert run.conditions["server"]["timebase"] == store_timebase(folder)  # type: ignore[index]


def store_timebase(folder: Path) -> str:
    with Store.open(folder) as store:
        return store.probes()[0].timebase


@pytest.mark.slow
def test_two_runs_with_the_same_seed_have_the_same_order(server: Server, tmp_path: Path) -> None:
    plan = lab.short_plan(
        client_counts=(1, 2), blocks=2, notifications=2, warmup_notifications=0, idle_s=0.01
    )
    orders = []
    for _ in range(2):
        folder = runner.run_plan(
            plan, server=server, runs_dir=tmp_path, run_id=naming.new_run_id(), progress=Progress()
        )
        with Store.open(folder) as store:
            specs = [trial.spec for trial in store.load().trials]
        orders.append([(each.clients, each.arm.name, each.idle) for each in specs[:12]])

    assert orders[0] == orders[1]


@pytest.mark.slow
def test_without_a_clock_channel_the_server_itself_is_asked(server: Server, tmp_path: Path) -> None:
    folder = runner.run_plan(
        lab.short_plan(idle_s=0.0, drain_s=DRAIN_S),
        server=replace(server, clock_port=None),
        runs_dir=tmp_path,
        run_id="http-clock",
        progress=Progress(),
    )

    with Store.open(folder) as store:
        record = store.load()
    samples = [each for trial in record.trials for each in trial.deliveries if not each.warmup]
    assert record.conditions["clock_channel"] == "http"
    assert len(samples) == 2 * 2 * 20
    assert {each.outcome for each in samples} == {Outcome.ON_TIME}
    assert all(each.clock_bound_us is not None for each in samples)


@pytest.mark.slow
def test_a_stop_keeps_what_was_measured_and_leaves_the_run_incomplete(server: Server, tmp_path: Path) -> None:
    stop = threading.Event()

    class StopAfterTwo(Progress):
        def trial(self, spec: object, *, done: int, trials: int, left_s: float) -> None:
            if done == 2:
                stop.set()

    before = set(psutil.Process().children(recursive=True))
    folder = runner.run_plan(
        lab.short_plan(blocks=5),
        server=server,
        runs_dir=tmp_path,
        run_id="stopped",
        progress=StopAfterTwo(),
        stop=stop.is_set,
    )

    with Store.open(folder) as store:
        record = store.load()
    assert (len(record.trials), record.complete) == (2, False)
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.slow
def test_a_server_that_dies_ends_the_run_in_a_sentence_and_keeps_what_was_measured(tmp_path: Path) -> None:
    with server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started:

        class KillAfterTwo(Progress):
            def trial(self, spec: object, *, done: int, trials: int, left_s: float) -> None:
                if done == 2:
                    started.stop()

        with pytest.raises(Unfit):
            runner.run_plan(
                lab.short_plan(blocks=5),
                server=started.server,
                runs_dir=tmp_path,
                run_id="killed",
                progress=KillAfterTwo(),
            )
    with Store.open(tmp_path / "killed") as store:
        record = store.load()
    assert (len(record.trials), record.complete) == (2, False)
    assert "stopped" in record.conditions
