"""What a server does badly is a result of `./siar load`: it counts, with a denominator, and excuses no gate."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.support.commands import load, valid_load
from tests.support.lab import descendants
from tests.support.proxy import CUT, Tamper, tampered
from tests.support.server import ADMIN_TOKEN, running_server

USERS = 4
RATE_HZ = 10
NOTIFICATIONS = 10

ONCE = (
    *("--shape", "steps", "--users", str(USERS), "--transport", "sse", "--quick"),
    *("--duration", f"{NOTIFICATIONS / RATE_HZ:g}s", "--rate", str(RATE_HZ)),
)
"""One trial, so that what is done to it cannot be outvoted by another."""


def doubled(piece: bytes) -> list[bytes | None]:
    """Each notification twice."""
    return [piece, piece] if b"event: notification" in piece else [piece]


class CutInTheMiddle:
    """Ends each user's connection behind a measured notification, once in a run: three more are due by then."""

    def __init__(self) -> None:
        self._cuts: Counter[bytes] = Counter()

    def __call__(self, piece: bytes) -> list[bytes | None]:
        run = re.search(rb'"run":"([^"]+)","block":\d+,"trial":\d+,"seq":26,', piece)
        if run is None or self._cuts[run[1]] == USERS:
            return [piece]
        self._cuts[run[1]] += 1
        return [piece, CUT]


class CutAtTheBeginning:
    """Ends so many connections right behind the first word of the server's stream."""

    def __init__(self, count: int) -> None:
        self._left = count

    def __call__(self, piece: bytes) -> list[bytes | None]:
        if b"retry: " not in piece or self._left == 0:
            return [piece]
        self._left -= 1
        return [piece, CUT]


def level_of(result: dict[str, Any]) -> dict[str, Any]:
    (level,) = result["load"]["levels"]
    return dict(level)


@pytest.mark.alone
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("tamper", "figure", "least"),
    # Of the very last ones the second copy may come when the trial is over.
    [(doubled, "duplicates", USERS * NOTIFICATIONS // 2), (CutInTheMiddle(), "disconnects", USERS)],
    ids=["everything comes twice", "every connection breaks"],
)
def test_what_comes_again_misses_a_gate_and_takes_nothing_from_the_generator(
    tmp_path: Path, tamper: Tamper, figure: str, least: int
) -> None:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_client=tampered(tamper)) as proxy,
    ):
        done, result = valid_load(
            tmp_path,
            *(*ONCE, "--url", proxy.url, "--token", ADMIN_TOKEN),
            *("--gate", f"{figure}==0", "errors<100", "lost==0"),
        )

    level = level_of(result)
    assert done.returncode == 99
    assert [each["held"] for each in result["load"]["gates"]] == [False, True, True]
    assert level["believed"] == 1
    assert level[figure] >= least


@pytest.mark.alone
@pytest.mark.nightly
def test_a_connection_that_breaks_before_the_trial_is_an_error_and_its_return_an_attempt(
    tmp_path: Path,
) -> None:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_client=tampered(CutAtTheBeginning(2))) as proxy,
    ):
        done, result = load(
            tmp_path, *ONCE, "--url", proxy.url, "--token", ADMIN_TOKEN, "--gate", "errors==0", "lost==0"
        )

    level = level_of(result)
    assert done.returncode == (99 if result["load"]["valid"] else 3)
    assert (level["errors"], level["disconnects"], level["failures"]) == (2, 0, {})
    assert level["attempts"] == USERS + 2
    assert level["lost"] == 0


@pytest.mark.alone
@pytest.mark.nightly
def test_users_that_a_full_server_refuses_are_counted_with_their_attempts_and_reason(tmp_path: Path) -> None:
    done, result = load(tmp_path, *ONCE, "--gate", "errors==0", SIAR_CONNECTIONS_MAX=str(USERS - 1))

    level = level_of(result)
    failed = sum(level["failures"].values())
    assert done.returncode == 3
    assert any("users_missing" in each for each in result["load"]["troubles"])
    assert "? errors==0" in done.stdout
    assert failed > 0
    assert all("503" in reason for reason in level["failures"])
    # One more may have been under way when the trial ended.
    assert level["attempts"] - failed - (USERS - 1) in (0, 1)
    assert level["errors"] == failed
    assert level["error_percent"] == pytest.approx(100 * failed / level["attempts"])
    assert level["connected_percent"] == pytest.approx(100 * (USERS - 1) / USERS)
    assert level["lost"] == NOTIFICATIONS


@pytest.mark.alone
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="cores are given to processes on Linux only")
def test_a_server_that_has_only_the_generators_core_voids_the_run(tmp_path: Path) -> None:
    usable = os.sched_getaffinity(0)
    core = max(usable)
    with running_server(tmp_path) as server:
        for pid in (server.process.pid, *(each.pid for each in descendants(server.process.pid))):
            os.sched_setaffinity(pid, {core})
        os.sched_setaffinity(0, {core})  # What this thread starts has the same.
        try:
            done, result = load(tmp_path, *ONCE, "--url", server.url, "--token", ADMIN_TOKEN)
        finally:
            os.sched_setaffinity(0, usable)

    assert done.returncode == 3
    assert any("shared_core" in each for each in result["load"]["troubles"])
