"""How full the generator's cores are: of each process by itself, and of those that are confined to the same cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from app.tools.load.watch import Utilisation, Watch, cpu_ns, highest_utilisation

ZERO, ONE, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})

WAIT_S = 60.0


@pytest.mark.parametrize(
    ("shares", "most"),
    [
        ([], None),
        ([(ONE, 0.4)], Utilisation(0.4, 1)),
        ([(BOTH, 0.4)], Utilisation(0.4, 1)),
        ([(ONE, 0.4), (ONE, 0.5)], Utilisation(0.9, 2)),
        ([(ONE, 0.4), (ZERO, 0.5)], Utilisation(0.5, 1)),
        ([(BOTH, 0.4), (BOTH, 0.5)], Utilisation(0.5, 1)),
        ([(BOTH, 0.5), (BOTH, 0.5), (BOTH, 0.5)], Utilisation(0.75, 3)),
        ([(ONE, 0.3), (ONE, 0.3), (BOTH, 0.5)], Utilisation(0.6, 2)),
        ([(ONE, 0.5), (BOTH, 0.5), (BOTH, 0.5)], Utilisation(0.75, 3)),
    ],
)
def test_processes_count_together_where_they_can_go_nowhere_else(
    shares: list[tuple[frozenset[int], float]], most: Utilisation | None
) -> None:
    found = highest_utilisation(shares)

    assert (found is None) == (most is None)
    if found is not None and most is not None:
        assert (found.share, found.processes) == (pytest.approx(most.share), most.processes)


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.skipif(sys.platform != "linux", reason="cores are given to processes on Linux only")
def test_two_processes_on_one_core_are_seen_to_fill_it() -> None:
    core = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile True: pass"
    spinners = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for each in spinners:
            assert each.stdout is not None
            each.stdout.readline()
        pids = [each.pid for each in spinners]
        watches = [Watch(pids), Watch(pids[:1]), Watch(pids[1:])]
        wait_until_used(pids, seconds=1.2)

        together, *alone = (each.end() for each in watches)
    finally:
        for each in spinners:
            each.kill()
            each.communicate()

    assert together.is_crowded
    assert not any(each.is_crowded for each in alone)
    assert together.cpu_share_max is not None
    assert together.cpu_share_max > max(each.cpu_share_max or 0.0 for each in alone)


def wait_until_used(pids: list[int], *, seconds: float) -> None:
    """Until they have used so much from now on: on one core that takes at least as long."""

    def used_s() -> float:
        return sum(cpu_ns(pid) or 0 for pid in pids) / 1e9

    begun_s, deadline_s = used_s(), time.monotonic() + WAIT_S
    while used_s() < begun_s + seconds:
        assert time.monotonic() < deadline_s, "the processes got no time"
        time.sleep(0.05)
