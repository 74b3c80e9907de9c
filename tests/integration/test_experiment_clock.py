"""The clock of an experiment: fresh when a trial begins, and missed when it has gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.clocksync.sync import ClockSync
from app.core.delivery import SampleState
from app.core.errors import Unfit
from app.core.plan.scenario import Plan, TrialSpec
from app.lab.run import runner, server_process
from app.lab.run.api import Server
from app.lab.run.client_link import ClientLink
from app.lab.run.progress import Progress
from app.lab.run.runner_clock import PROBES_BEFORE_TRIAL
from app.lab.run.trial_run import PROBES_AFTER_TRIAL, BuiltInClients
from app.store.store import Store
from tests.support import lab


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    runs_dir = tmp_path_factory.mktemp("runs")
    with server_process.start(runs_dir=runs_dir, settings={"SIAR_RECORDER": "0"}) as started:
        yield started.server


def probes_of_a_trial(server: Server, plan: Plan, *, clock_age_us_max: int) -> int:
    """How many probes a trial right after the first burst brings."""
    with ClientLink() as clients:
        clients.open_clock(server.host, server.clock_port or 0)
        laboratory = BuiltInClients(
            f"clock-{clock_age_us_max}",
            plan,
            server,
            clients,
            ClockSync(quantum_us=1.0, wander_us=2.0),
            clock_age_us_max=clock_age_us_max,
        )
        laboratory.synchronise(32)
        spec = TrialSpec(0, 0, 1, plan.arms[0])
        laboratory.connect(spec)
        return len(laboratory.measure(spec).probes)


@pytest.mark.parametrize(
    ("clock_age_us_max", "expected"),
    [(60_000_000, PROBES_AFTER_TRIAL), (0, PROBES_BEFORE_TRIAL + PROBES_AFTER_TRIAL)],
)
def test_a_trial_begins_with_probes_when_the_last_ones_are_old(
    server: Server, clock_age_us_max: int, expected: int
) -> None:
    assert probes_of_a_trial(server, lab.short_plan(), clock_age_us_max=clock_age_us_max) == expected


@pytest.mark.slow
def test_a_clock_that_has_gone_is_noticed_by_the_next_burst(tmp_path: Path) -> None:
    with (
        server_process.start(runs_dir=tmp_path, settings={"SIAR_RECORDER": "0"}) as started,
        ClientLink() as clients,
    ):
        clients.open_clock(started.server.host, started.server.clock_port or 0)
        assert clients.burst(4)
        clock = lab.descendants_with(started.process.pid, "app.server.clock_process")[0]

        clock.kill()

        with pytest.raises(Unfit, match=r"The clock channel is gone"):
            clients.burst(4)


@pytest.mark.nightly
@pytest.mark.alone
def test_an_idle_window_longer_than_the_clock_reaches_leaves_every_sample_a_clock(
    server: Server, tmp_path: Path
) -> None:
    folder = runner.run_plan(
        lab.short_plan(idle_s=16.0),
        server=server,
        runs_dir=tmp_path,
        run_id="long-idle",
        progress=Progress(),
    )

    with Store.open(folder) as store:
        record = store.load()
    samples = [each for trial in record.trials for each in trial.deliveries if not each.warmup]
    assert {each.state for each in samples} == {SampleState.OK}
