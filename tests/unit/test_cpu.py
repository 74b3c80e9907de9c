"""CPU time between two edges, of real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.core.companion import COMPANION
from app.core.units import MonotonicUs
from app.lab.measure import host
from app.lab.measure.cpu import CpuSampler, CpuSnapshot, ProcessKey, ProcessUse, difference
from app.server.wsgi import supervisor

BURN = "import sys, time\nfor line in sys.stdin:\n    end = time.process_time() + float(line)\n" + (
    "    while time.process_time() < end: pass\n    print('done', flush=True)"
)


def use(clock_ns: int | None, user_s: float = 0.0) -> ProcessUse:
    return ProcessUse(clock_ns, user_s, 0.0, 1, 2, 1000)


def snapshot(at_s: float, processes: dict[ProcessKey, ProcessUse]) -> CpuSnapshot:
    return CpuSnapshot(MonotonicUs(round(at_s * 1e6)), processes, at_s, 10.0)


def test_the_cpu_of_another_process_is_read_from_outside() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("0\n")
        process.stdin.flush()
        process.stdout.readline()
        sampler = CpuSampler(process.pid)
        before = sampler.snapshot()
        process.stdin.write("0.1\n")
        process.stdin.flush()
        process.stdout.readline()
        change = difference(before, sampler.snapshot())
        process.stdin.close()

    assert change.use.total_is_ns is (sys.platform == "linux")
    assert 0.07 <= change.use.total_s < 1.0, "what it burns, and on a busy machine what that costs beside"
    assert change.use.wall_s >= 0.1
    assert change.use.rss_bytes > 1_000_000
    assert (change.appeared, change.ended) == ((), ())


def test_a_process_that_has_gone_is_an_empty_edge() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()

    assert CpuSampler(process.pid).snapshot().processes == {}


def test_a_process_that_began_in_between_counts_whole_and_is_named() -> None:
    before = snapshot(1.0, {(1, 0.0): use(1_000_000_000)})
    after = snapshot(2.0, {(1, 0.0): use(1_250_000_000), (2, 1.5): use(500_000_000)})

    change = difference(before, after)

    assert change.use.total_s == pytest.approx(0.75)
    assert change.use.wall_s == pytest.approx(1.0)
    assert (change.appeared, change.ended) == ((2,), ())


def test_a_process_that_ended_in_between_is_named_and_never_counted_backwards() -> None:
    before = snapshot(1.0, {(1, 0.0): use(0), (2, 0.5): use(9_000_000_000)})

    change = difference(before, snapshot(2.0, {(1, 0.0): use(1_000_000)}))

    assert change.use.total_s == pytest.approx(0.001)
    assert (change.appeared, change.ended) == ((), (2,))


def test_an_id_that_was_given_anew_is_another_process() -> None:
    before = snapshot(1.0, {(7, 0.0): use(9_000_000_000)})

    change = difference(before, snapshot(2.0, {(7, 1.5): use(1_000_000)}))

    assert change.use.total_s == pytest.approx(0.001)
    assert (change.appeared, change.ended) == ((7,), (7,))


def test_a_wall_clock_that_is_set_in_between_makes_no_process_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel tells when the machine began by the wall clock, and psutil when a process did by that."""
    sampler = CpuSampler(os.getpid())
    before, booted_s = sampler.snapshot(), psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: booted_s + 3600.0)

    change = difference(before, sampler.snapshot())

    assert (change.appeared, change.ended) == ((), ())
    assert change.use.total_s < 1.0, "what was used before counts in no window"


def test_without_a_nanosecond_clock_the_ticks_stand_and_say_so() -> None:
    before = snapshot(1.0, {(1, 0.0): use(None, user_s=1.00)})

    change = difference(before, snapshot(2.0, {(1, 0.0): use(None, user_s=1.05)}))

    assert (change.use.total_s, change.use.total_is_ns) == (pytest.approx(0.05), False)


def test_an_edge_is_read_within_a_tenth_of_a_second() -> None:
    sampler = CpuSampler(os.getpid())

    taken_s = []
    for _ in range(10):
        started_s = time.perf_counter()
        sampler.snapshot()
        taken_s.append(time.perf_counter() - started_s)

    assert min(taken_s) < 0.1, "the fastest: a busy machine takes its time from the others"


def test_conditions_name_what_can_change_a_figure_and_no_path() -> None:
    found = host.conditions(settings={"broker": "memory://"}, server={"fanout": "detached"})

    assert found["cores"] == psutil.cpu_count()
    assert {"python", "kernel", "cpu_model", "governor", "clocksource", "git_commit", "packages"} <= set(
        found
    )
    assert found["browser"] is None
    assert os.getcwd() not in str(found)


COMPANIONS: dict[str, Callable[[Path], subprocess.Popen[bytes]]] = {
    "recorder": supervisor.start_recorder,
    "sweep": lambda folder: supervisor.start_sweep(folder, days=30, keep=""),
    "self-check": lambda _folder: supervisor.start_self_check(),
}


@pytest.fixture
def _waiting_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs started with Python wait at their start: a sweep would end before a busy machine has looked at it."""
    (tmp_path / "sitecustomize.py").write_text("import signal\nsignal.alarm(600)\nsignal.pause()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("_waiting_python")
@pytest.mark.parametrize("name", COMPANIONS)
def test_what_the_server_runs_beside_itself_is_left_out(name: str, tmp_path: Path) -> None:
    process = COMPANIONS[name](tmp_path)
    try:
        while process.poll() is None and not psutil.Process(process.pid).cmdline():
            pass  # The kernel tells the arguments a moment after the program was started.
        found = {pid for pid, _ in CpuSampler(os.getpid()).snapshot().processes}
        was_there = process.poll() is None
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    assert was_there, "it began and ended before anybody looked"
    assert os.getpid() in found
    assert process.pid not in found


def test_what_a_companion_starts_is_left_out_and_an_unmarked_child_counts() -> None:
    """The room's runner starts a process of clients."""
    parent = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True); input()"
    with (
        subprocess.Popen(
            [sys.executable, *COMPANION, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as marked,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as plain,
    ):
        assert marked.stdout is not None
        grandchild = int(marked.stdout.readline())
        found = {pid for pid, _ in CpuSampler(os.getpid()).snapshot().processes}
        os.kill(grandchild, signal.SIGKILL)
        marked.kill()
        plain.kill()

    assert plain.pid in found
    assert not {marked.pid, grandchild} & found


def test_all_that_the_server_starts_beside_itself_carries_the_mark() -> None:
    root = Path(__file__).parents[2] / "app"
    starting = [
        line.strip()
        for path in (root / "server").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "sys.executable" in line and '"-m"' in line
    ]

    assert len(starting) >= 5
    assert [line for line in starting if "*COMPANION" not in line] == []
