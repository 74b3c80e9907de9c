"""Servers of the VPS study's experiment: one for each configuration, next to a Redis of the run's own.

Redis shares the server's core, as everything in the study shared one vCPU, and does not write to disk: the round trip is
what is measured. Everything ends with the run and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from app import clock
from app.core.errors import Unfit
from app.lab.run import server_process
from app.lab.run.api import Server, ask
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import RedisHere
from app.tools.load.vps import CACHE_TTL_S, CACHED, MEMORY, REDIS

HISTORY_COUNT = 100
HISTORY_BODY_CHARS = 300
"""Default length of the list of `GET /api/notifications`, with half a kilobyte per notification, as in a trial."""


@contextlib.contextmanager
def three_servers(
    redis: RedisHere, cores: Cores, *, runs_dir: Path, settings: Mapping[str, str]
) -> Iterator[dict[str, Server]]:
    """Start the servers and yield them by configuration, as arms name it; all share one clock. Raises `Unfit`."""
    shared = {
        **settings,
        # One anchor for all servers and the runner, so that their stamps are comparable.
        "SIAR_ANCHOR_US": str(clock.anchor_us()),
        "SIAR_TIMEBASE": clock.timebase(),
        "SIAR_RECORDER": "0",
        "SIAR_WORKERS": "1",
        "SIAR_HISTORY_CACHE_TTL_S": "0",
    }
    own = {
        MEMORY: {"SIAR_BROKER": "memory://"},
        REDIS: {"SIAR_BROKER": redis.url("c2")},
        CACHED: {"SIAR_BROKER": redis.url("c3"), "SIAR_HISTORY_CACHE_TTL_S": str(CACHE_TTL_S)},
    }
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, its_own in own.items():
            with cores.on_server_core():
                started = server_process.start(runs_dir=runs_dir, settings={**shared, **its_own})
            servers[name] = stack.enter_context(started).server
            _fill_history(servers[name])
        yield servers


def _fill_history(server: Server) -> None:
    """Publish notifications to be listed: trials leave this history empty, and an empty list costs nothing."""
    for number in range(HISTORY_COUNT):
        body = {"title": f"Notification {number}", "body": "." * HISTORY_BODY_CHARS}
        try:
            status, _ = ask("POST", f"{server.url}/api/notifications", token=server.admin_token, body=body)
        except OSError as error:
            raise Unfit(f"The server at {server.url} no longer answers: {error}.") from error
        if status != 201:
            raise Unfit(f"The server at {server.url} refused a notification with {status}.")
