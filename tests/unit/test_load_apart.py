"""Whether server and generator can take each other's time, by the cores that the system lets each of them use."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from app.lab.run.api import Server
from app.tools.load.cpu_isolation import Sharing, cores_of, cores_of_servers, sharing
from tests.support.server import free_port

linux = pytest.mark.skipif(sys.platform != "linux", reason="cores are given to processes on Linux only")

LISTENER = """
import os, socket, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
"""


def server_at(url: str, pid: int | None = None) -> Server:
    return Server(url, "token", None, {}, pid)


@contextlib.contextmanager
def listening_on(core: int) -> Iterator[tuple[int, int]]:
    """A process that may use this core only: its id, and the port on which it listens."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(core)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("server", "generator", "found"),
    [
        (None, {0}, Sharing.NEVER),
        ({0}, {1}, Sharing.NEVER),
        ({0}, {1, 2, 3}, Sharing.NEVER),
        ({0}, {0}, Sharing.MUST),
        ({0, 1}, {0, 1}, Sharing.MAY),
        ({0}, {0, 1}, Sharing.MAY),
        ({0, 1}, {1}, Sharing.MAY),
    ],
)
def test_one_core_between_them_is_shared_and_two_may_be(
    server: set[int] | None, generator: set[int], found: Sharing
) -> None:
    assert sharing(server, generator) is found


def test_a_server_elsewhere_shares_nothing() -> None:
    assert cores_of_servers([server_at("http://192.0.2.1:8080")]) is None


def test_a_server_here_of_which_nothing_is_known_may_use_the_whole_machine() -> None:
    found = cores_of_servers([server_at(f"http://127.0.0.1:{free_port()}")])

    assert found == set(range(os.cpu_count() or 1))


@linux
def test_a_server_may_use_the_cores_of_its_process() -> None:
    core = max(os.sched_getaffinity(0))
    with listening_on(core) as (pid, port):
        by_pid = cores_of_servers([server_at("http://127.0.0.1:1", pid)])
        by_port = cores_of_servers([server_at(f"http://localhost:{port}")])
        own = cores_of([pid])

    assert by_pid == by_port == own == {core}


@linux
def test_several_servers_may_use_the_cores_of_all_of_them() -> None:
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    with listening_on(first) as (_, port), listening_on(last) as (_, another):
        found = cores_of_servers([server_at(f"http://127.0.0.1:{each}") for each in (port, another)])

    assert found == {first, last}
