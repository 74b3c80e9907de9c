"""Shared parts of tests with real processes: short plans, and checks for processes that still run."""

from __future__ import annotations

import contextlib
import time

import psutil

from app.core.plan.scenario import Plan, arms_from_names
from app.lab.run.api import find_server
from app.lab.run.progress import Progress
from app.lab.run.room_run import RoomRun
from tests.support.server import RunningServer


def short_plan(**changes: object) -> Plan:
    """Return a plan with two trials of 0.25 s with two clients, and an idle window."""
    values = {
        "arms": arms_from_names(["sse", "socketio"]),
        "client_counts": (2,),
        "blocks": 1,
        "notifications": 20,
        "warmup_notifications": 5,
        "rate_hz": 100.0,
        "payload_bytes": 512,
        "seed": 5,
        "idle_s": 0.1,
        "settle_s": 0.05,
        "drain_s": 2.0,
        "extra_blocks_max": 0,
    }
    return Plan(**{**values, **changes})  # type: ignore[arg-type]


def room_plan(**changes: object) -> Plan:
    """Return a plan for the phones of a room, as short as possible."""
    values = {
        "client_counts": (2,),
        "notifications": 10,
        "warmup_notifications": 2,
        "rate_hz": 50.0,
        "idle_s": 0.2,
        "settle_s": 0.7,
        "environment": "lan",
        "profile": "plan",
    }
    return short_plan(**{**values, **changes})


def room_run(server: RunningServer, run: str, wanted: int, wanted_plan: Plan) -> RoomRun:
    """Return a run with the runner in this process."""
    found = find_server(server.url, admin_token=server.admin_token, pid=server.process.pid)
    return RoomRun(wanted_plan, found, server.runs_dir, run, wanted, Progress())


def descendants(pid: int) -> list[psutil.Process]:
    """Return every living process that `pid` and its children started."""
    return psutil.Process(pid).children(recursive=True)


def descendants_with(pid: int, word: str) -> list[psutil.Process]:
    """Return those with the word in their command line, skipping processes that end meanwhile."""
    found = []
    for process in descendants(pid):
        with contextlib.suppress(psutil.Error):
            if word in process.cmdline():
                found.append(process)
    return found


def wait_until_gone(processes: list[psutil.Process], timeout_s: float) -> list[psutil.Process]:
    """Return the processes still alive after `timeout_s`; returns early when there are none."""
    deadline_s = time.monotonic() + timeout_s
    while alive := [each for each in processes if _is_alive(each)]:
        if time.monotonic() > deadline_s:
            return alive
        time.sleep(0.02)
    return []


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
