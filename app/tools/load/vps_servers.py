"""What the VPS study's experiment runs on: a Redis of its own, and a server for each configuration.

Redis shares the server's core, as all of the study's did on one vCPU, and writes nothing to the disk: what is measured
is the way there and back. Everything ends with the run, and nothing of it is left.
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
"""What `GET /api/notifications` lists when nobody says how many: half a kilobyte each, as notifications of a trial."""


@contextlib.contextmanager
def three_servers(
    redis: RedisHere, cores: Cores, *, runs_dir: Path, settings: Mapping[str, str]
) -> Iterator[dict[str, Server]]:
    """By configuration, as the arms name it: a server that is ready, all on one clock. Raises `Unfit`."""
    shared = {
        **settings,
        # One anchor for all, and the runner's: the stamps of one are the stamps of every other.
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
    """Something to ask for: trials leave the operator's history empty, and an empty list costs nothing to make."""
    for number in range(HISTORY_COUNT):
        body = {"title": f"Notification {number}", "body": "." * HISTORY_BODY_CHARS}
        try:
            status, _ = ask("POST", f"{server.url}/api/notifications", token=server.admin_token, body=body)
        except OSError as error:
            raise Unfit(f"The server at {server.url} no longer answers: {error}.") from error
        if status != 201:
            raise Unfit(f"The server at {server.url} refused a notification with {status}.")
