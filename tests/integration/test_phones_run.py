"""A run with phones, from an empty room to the report: real server, real streams, simulated phones."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import verify
from app.core.delivery import Outcome, SampleState
from app.core.errors import Unfit
from app.core.trial import RunRecord
from app.lab.analysis.comparison.study_method import RawClocks, Stamps
from app.lab.run.room_run import RoomRun
from app.store.store import Store
from tests.support.lab import room_plan, room_run
from tests.support.phone import SimulatedPhone, phones
from tests.support.server import RunningServer, running_server

SHIFT_US = 90_000_000
"""The phones' clocks are wrong by so much."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("phones"), recorder=0) as found:
        yield found


@pytest.fixture(scope="module")
def folder(server: RunningServer) -> Path:
    with phones(server, ["Red Gecko", "Blue Otter"], shift_us=SHIFT_US):
        found = room_run(server, "whole", 2, room_plan(drain_s=10.0))
        analysis = found.execute()
    assert analysis is not None
    assert analysis.run.complete
    return found.folder


@pytest.fixture(scope="module")
def run(folder: Path) -> RunRecord:
    with Store.open(folder) as store:
        return store.load()


def test_every_phone_measures_every_notification_by_its_own_clock(run: RunRecord) -> None:
    trials = [trial for trial in run.trials if not trial.spec.idle]

    assert run.complete
    assert len(trials) == 2
    for trial in trials:
        assert len(trial.participants) == trial.spec.clients
        assert {each.client for each in trial.deliveries} == set(trial.participants)
        assert len(trial.deliveries) == 12 * trial.spec.clients
        for each in trial.deliveries:
            assert each.outcome is Outcome.ON_TIME
            assert each.received_client_us is not None
            assert each.clock_offset_us is not None
            assert each.clock_bound_us is not None


@pytest.mark.nightly
@pytest.mark.alone
def test_the_delay_of_every_arrival_is_within_a_narrow_bound(run: RunRecord) -> None:
    for each in (each for trial in run.trials for each in trial.deliveries):
        assert each.state is (SampleState.WARMUP if each.warmup else SampleState.OK)
        assert each.delay_ms is not None
        assert 0 < each.delay_ms < 1000
        assert each.clock_bound_us is not None
        assert each.clock_bound_us < 5000


def test_the_study_s_method_takes_the_phones_wall_clocks_as_wrong_as_they_were(run: RunRecord) -> None:
    trials = [trial for trial in run.trials if not trial.spec.idle]
    clocks = RawClocks(Stamps.WALL)

    found = [means for trial in trials if (means := clocks.means_ms(trial)) is not None]

    # The delay itself, and how much a machine's wall clock may be set in between.
    assert [each.raw_ms for each in found] == [pytest.approx(SHIFT_US / 1000, abs=30_000)] * 2
    assert [each.clock_error_ms for each in found] == [pytest.approx(SHIFT_US / 1000, abs=30_000)] * 2
    assert clocks.wall_error_ms_max == pytest.approx(SHIFT_US / 1000, abs=30_000)


def test_the_server_s_cpu_is_measured_with_phones_connected_and_idle(run: RunRecord) -> None:
    assert sum(trial.spec.idle for trial in run.trials) == 1
    for trial in run.trials:
        assert trial.cpu is not None
        assert trial.cpu.total_s >= 0


@pytest.mark.nightly
@pytest.mark.alone
def test_phones_that_wait_for_a_trial_ask_nothing_and_neither_does_the_runner(run: RunRecord) -> None:
    for trial in run.trials:
        assert trial.cpu is not None
        # In an idle window of 0.2 s a server may well do nothing at all.
        assert trial.spec.idle or trial.cpu.total_s > 0
        assert trial.disturbances == 0


def test_what_phones_said_of_themselves_is_kept_with_the_trial(run: RunRecord) -> None:
    for trial in run.trials:
        if not trial.spec.idle:
            assert [each.client for each in trial.lifecycle_reports] == list(trial.participants)
            assert {each.received_count for each in trial.lifecycle_reports} == {12}
            assert not any(warning.code == "phone_missing" for warning in trial.warnings)


def test_figures_come_out_again_and_phones_are_called_simulated(
    server: RunningServer,
    folder: Path,
    run: RunRecord,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SIAR_RUNS_DIR", str(server.runs_dir))
    arguments = type("Arguments", (), {"run": "whole"})()

    assert verify.execute(arguments) == 0
    assert "offsets of phones' clocks come out again from their probes" in capsys.readouterr().out
    assert run.simulated
    assert "imulated" in (folder / "report.html").read_text()


def test_names_and_devices_stay_in_one_file_that_only_this_user_reads(folder: Path) -> None:
    kept = folder / "participants.json"

    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [each["name"] for each in json.loads(kept.read_text())["participants"]]
    for name in ("report.html", "result.json", "deliveries.csv", "trials.csv"):
        text = (folder / name).read_text()
        assert "Gecko" not in text
        assert "d-" + json.loads(kept.read_text())["participants"][0]["device"][2:] not in text


def test_each_phone_gets_its_own_result_and_the_room_the_verdict(server: RunningServer, folder: Path) -> None:
    _, room = server.request("GET", "/api/room")
    links = room["result"]["results"]

    assert room["phase"] == "finished"
    # Too few blocks for a verdict; on a machine that is busy the source may even have been late.
    assert room["result"]["verdict"]["code"] in ("undecided", "invalid")
    assert len(set(links.values())) == 2
    for link in links.values():
        path = folder / "results" / f"{link.rpartition('/')[2]}.json"
        result = json.loads(path.read_text())
        assert [(arm["on_time"], arm["lost"]) for arm in result["arms"]] == [(10, 0), (10, 0)]
        assert result["verdict"] == room["result"]["verdict"]


def conduct_in_background(found: RoomRun) -> threading.Thread:
    thread = threading.Thread(target=found.execute, daemon=True)
    thread.start()
    return thread


def result_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text())


@pytest.mark.nightly
@pytest.mark.alone
def test_fewer_phones_take_turns_and_both_arms_have_the_same(server: RunningServer) -> None:
    with phones(server, ["Red Gecko", "Blue Otter", "Calm Owl"]):
        analysis = room_run(
            server, "turns", 3, room_plan(client_counts=(1, 3), blocks=3, idle_s=0.0, extra_blocks_max=0)
        ).execute()

    assert analysis is not None
    alone: dict[int, set[tuple[int, ...]]] = {}
    for trial in analysis.run.trials:
        if trial.spec.clients == 1:
            alone.setdefault(trial.spec.block, set()).add(trial.participants)
    assert [len(each) for each in alone.values()] == [1, 1, 1]
    assert set().union(*alone.values()) == {(0,), (1,), (2,)}


@pytest.mark.nightly
@pytest.mark.alone
def test_a_phone_that_sleeps_through_a_trial_voids_its_block_which_is_repeated(server: RunningServer) -> None:
    with phones(server, ["Red Gecko", "Blue Otter"]) as joined:
        slept: list[int] = []

        def sleep_once(phone: SimulatedPhone, trial: int) -> None:
            if not slept:
                slept.append(trial)
                phone.sleep(1.5)

        joined[0].on_running = sleep_once
        analysis = room_run(
            server, "asleep", 2, room_plan(client_counts=(2,), idle_s=0.0, extra_blocks_max=2)
        ).execute()

    assert analysis is not None
    asleep = [each for each in analysis.trials if "asleep" in {warning.code for warning in each.warnings}]
    assert [trial.record.spec.index for trial in asleep] == slept
    assert not asleep[0].valid
    assert len(analysis.trials) >= 4  # more where the machine was so busy that the source was late
    assert 0 not in {trial.record.spec.block for trial in analysis.trials if trial.in_comparison}
    assert analysis.totals.lost == 0


@pytest.mark.nightly
@pytest.mark.alone
def test_the_others_go_on_without_a_phone_that_leaves(server: RunningServer) -> None:
    with phones(server, ["Red Gecko", "Blue Otter", "Calm Owl"]) as joined:
        left: list[int] = []

        def leave_once(phone: SimulatedPhone, trial: int) -> None:
            left.append(trial)
            phone.leave()

        joined[1].on_running = leave_once
        analysis = room_run(
            server, "left", 3, room_plan(client_counts=(3,), blocks=2, idle_s=0.0, extra_blocks_max=4)
        ).execute()

    assert analysis is not None
    assert left
    assert analysis.run.complete
    assert 2 in analysis.client_counts
    with_two = [trial for trial in analysis.trials if trial.record.spec.clients == 2]
    assert with_two
    assert all(trial.metrics.delivered == trial.metrics.expected for trial in with_two)


@pytest.mark.nightly
@pytest.mark.alone
def test_a_run_is_paused_between_trials_and_goes_on(server: RunningServer) -> None:
    found = room_run(server, "paused", 1, room_plan(client_counts=(1,), blocks=2, idle_s=0.0))
    with phones(server, ["Red Gecko"]) as joined:
        paused = threading.Event()

        def pause_once(_phone: SimulatedPhone, _trial: int) -> None:
            if not paused.is_set():
                server.request("POST", "/api/room/pause")
                paused.set()

        joined[0].on_running = pause_once
        thread = conduct_in_background(found)
        assert paused.wait(40)
        while server.request("GET", "/api/room")[1]["phase"] != "paused":
            thread.join(0.1)
        assert len(joined[0].trials_done) == 1
        server.request("POST", "/api/room/resume")
        thread.join(60)

    assert not thread.is_alive()
    assert result_of(found.folder)["run"]["complete"] is True


@pytest.mark.nightly
@pytest.mark.alone
def test_a_room_that_the_operator_closes_ends_the_run_and_keeps_what_was_measured(
    server: RunningServer,
) -> None:
    found = room_run(server, "closed", 1, room_plan(client_counts=(1,), blocks=50, idle_s=0.0))
    with phones(server, ["Red Gecko"]) as joined:
        thread = conduct_in_background(found)
        while len(joined[0].trials_done) < 3 and thread.is_alive():
            thread.join(0.1)
        server.request("DELETE", "/api/room")
        thread.join(30)

    assert not thread.is_alive()
    result = result_of(found.folder)
    assert result["run"]["complete"] is False
    assert len(result["trials"]) >= 2


@pytest.mark.nightly
@pytest.mark.alone
def test_a_server_that_dies_ends_the_run_in_a_sentence_and_what_was_measured_stays(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as own:
        found = room_run(own, "died", 1, room_plan(client_counts=(1,), blocks=50, idle_s=0.0))
        with phones(own, ["Red Gecko"]) as joined:
            joined[0].on_running = lambda _phone, trial: own.process.terminate() if trial >= 2 else None

            with pytest.raises(Unfit, match="no longer answers"):
                found.execute()

    result = result_of(found.folder)
    assert result["run"]["complete"] is False
    assert len(result["trials"]) >= 2
    assert (found.folder / "participants.json").is_file()
