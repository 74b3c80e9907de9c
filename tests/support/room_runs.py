"""A run with the phones of a room, as short as possible, with the runner in this process."""

from __future__ import annotations

from app.core.plan.scenario import Plan
from app.lab.run.api import find_server
from app.lab.run.progress import SilentProgress
from app.lab.run.room_run import RoomRun
from tests.support import lab
from tests.support.server import RunningServer


def plan(**changes: object) -> Plan:
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
    return lab.short_plan(**{**values, **changes})


def room_run(server: RunningServer, run: str, wanted: int, wanted_plan: Plan) -> RoomRun:
    found = find_server(server.url, admin_token=server.admin_token, pid=server.process.pid)
    return RoomRun(wanted_plan, found, server.runs_dir, run, wanted, SilentProgress())
