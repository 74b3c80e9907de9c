"""A Redis with a replica, and the sentinel that promotes the replica when the master is gone."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.broker_url import parse_broker_url
from app.server.broker.redis.broker import RedisBroker
from app.server.broker.redis.link import RedisLink
from tests.support.followers import wait_for
from tests.support.redis_server import RedisServer, redis_server


@dataclass(frozen=True, slots=True)
class Pair:
    """A master, its replica, and the sentinel that watches them."""

    master: RedisServer
    replica: RedisServer
    url: str
    broker: RedisBroker


@contextlib.contextmanager
def pair(folder: Path) -> Iterator[Pair]:
    (folder / "sentinel").mkdir()
    with redis_server(folder / "master") as master:
        follows = ("--replicaof", master.host, str(master.port))
        with redis_server(folder / "replica", *follows) as replica:
            wait_for(lambda: "master_link_status:up" in replica.command("INFO", "replication"), replica.log)
            configuration = folder / "sentinel.conf"
            configuration.write_text(
                f"sentinel monitor siar {master.host} {master.port} 1\n"
                # On a busy machine, a master that is alive may be silent for half a second.
                "sentinel down-after-milliseconds siar 2000\n"
                "sentinel failover-timeout siar 5000\n"
            )
            # A sentinel stores no data, so the server's requirements for that do not apply.
            with sentinel(folder / "sentinel", configuration) as watching:
                wait_for(lambda: "slaves=1" in watching.command("INFO", "sentinel"), watching.log)
                url = f"redis+sentinel://{watching.host}:{watching.port}/siar?prefix={secrets.token_hex(4)}"
                address = parse_broker_url(url).redis
                assert address is not None
                broker = RedisBroker(RedisLink(address), count_max=100, bytes_max=10**9, age_max_us=10**12)
                try:
                    yield Pair(master, replica, url, broker)
                finally:
                    broker.close()


@contextlib.contextmanager
def sentinel(folder: Path, configuration: Path) -> Iterator[RedisServer]:
    server = SentinelServer(folder, str(configuration))
    try:
        yield server
    finally:
        server.kill()


class SentinelServer(RedisServer):
    """The same program in its other role."""

    def command_line(self) -> list[str]:
        return [
            self._program,
            self._arguments[0],
            "--sentinel",
            "--port",
            str(self.port),
            "--bind",
            self.host,
        ]


def wait_until_level(found: Pair) -> None:
    """Wait until the replica has all that the master has now.

    WAIT only covers writes of its own connection, of which there are none.
    """
    reached = offset_of(found.master, "master_repl_offset")
    wait_for(lambda: offset_of(found.replica, "slave_repl_offset") >= reached, found.replica.log)


def offset_of(server: RedisServer, name: str) -> int:
    answer = re.search(rf"^{name}:(\d+)", server.command("INFO", "replication"), re.MULTILINE)
    return int(answer[1]) if answer else -1
