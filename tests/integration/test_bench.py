"""`./siar bench` with few subscribers: it runs, its JSON says what it says, and what is lost is noticed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import Unfit
from app.core.protocol.event_stream import encode_prelude
from app.core.wire import TRANSPORT_SSE, TRANSPORTS
from app.tools.bench import server_under_test, wire
from app.tools.bench.cells import paced_cell
from app.tools.bench.machine import Cores
from app.tools.bench.plan import DIRECT, FLOOR, SEND, STOCK, Level
from app.tools.bench.session import Session, publisher_of
from app.tools.bench.subscriber_pool import Member, subscriber_pool
from tests.components import require_tool
from tests.support.kernel_ring import OFFERED

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.alone,
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="floor and swarm stand on epoll"),
]

ANYWHERE = Cores(None, None)
EPOCH = "2fdf8016"


def bench(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", "bench", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_bench_of_the_floor_alone_runs_in_seconds_and_writes_what_it_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"

    done = bench(
        *(
            "--quick",
            "--subscribers",
            "20",
            "--servers",
            "floor",
            "--only",
            "paced",
            "--transports",
            "socketio",
        ),
        *("--json", str(path)),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = document["cells"]
    assert (cell["server"], cell["kind"], cell["valid"], cell["values"]["lost"]) == (FLOOR, "paced", True, 0)
    assert row_of(document, "paced", 20, "cpu_us")["medians"] == {FLOOR: cell["values"]["cpu_us"]}


def test_a_small_bench_compares_every_server_and_writes_what_it_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"

    done = bench(
        *("--quick", "--subscribers", "5,20", "--transports", "sse", "--only", "paced,burst,connect"),
        *("--json", str(path)),
        cwd=tmp_path,
    )

    assert done.returncode in (0, 1), done.stderr
    document = json.loads(path.read_text(encoding="utf-8"))
    assert [other_than_the_swarm(cell) for cell in document["cells"] if not cell["valid"]] == []
    assert (document["schema"], document["kind"], document["plan"]["levels"]) == (1, "bench", [5, 20])
    kinds = {"connect": [20], "paced": [20, 5], "burst_http": [20], "burst_inside": [20]}
    for server in (FLOOR, STOCK, DIRECT):
        of_server = [cell for cell in document["cells"] if cell["server"] == server]
        found = {kind: [each["subscribers"] for each in of_server if each["kind"] == kind] for kind in kinds}
        assert found == kinds
    row = row_of(document, "paced", 20, "cpu_us")
    assert set(row["medians"]) == {FLOOR, STOCK, DIRECT}
    assert row["ratios"]["direct/floor"] == pytest.approx(row["medians"][DIRECT] / row["medians"][FLOOR])
    assert "direct/floor" in done.stdout
    assert "direct/send" not in done.stdout
    assert "about" in done.stderr.splitlines()[0]


def test_what_one_call_for_many_brings_is_measured_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"

    done = bench(
        *("--quick", "--subscribers", "20", "--transports", "sse", "--only", "paced"),
        *("--servers", "send,direct", "--json", str(path)),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text(encoding="utf-8"))
    row = row_of(document, "paced", 20, "cpu_us")
    assert set(row["medians"]) == {DIRECT, SEND}
    assert row["ratios"]["direct/send"] == pytest.approx(row["medians"][DIRECT] / row["medians"][SEND])
    assert "direct/send" in done.stdout
    assert document["conditions"]["writes"] == ("io_uring" if OFFERED else "send")


def other_than_the_swarm(cell: dict[str, Any]) -> list[str]:
    """With 20 subscribers on a busy machine nobody can promise how fast the swarm is shown to read."""
    return [problem for problem in cell["problems"] if not problem.startswith("swarm saturated")]


def row_of(document: dict[str, Any], kind: str, subscribers: int, metric: str) -> dict[str, Any]:
    wanted = (kind, subscribers, metric)
    return next(
        row for row in document["summary"] if (row["kind"], row["subscribers"], row["metric"]) == wanted
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", [FLOOR, STOCK, DIRECT, SEND])
def test_every_delivery_is_accounted_for_on_every_server(server: str, transport: str) -> None:
    with (
        server_under_test.running(server, ANYWHERE, {}) as running,
        subscriber_pool([Member(transport)], running.host, running.port) as subscribers,
        publisher_of(running) as publisher,
    ):
        cell = paced_cell(Session(running, transport, 0, subscribers, publisher), Level(20, 0.05, 4))

    assert cell.problems == []
    assert cell.values["deliveries"] == 80
    assert cell.values["cpu_us"]


def test_memory_is_measured_per_idle_connection(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"

    done = bench(
        *("--quick", "--subscribers", "50", "--only", "memory", "--servers", "floor,direct"),
        *("--json", str(path)),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [(cell["transport"], cell["server"]) for cell in cells] == [
        (transport, server) for transport in TRANSPORTS for server in (FLOOR, DIRECT)
    ]
    assert all("bytes_per_connection" in cell["values"] for cell in cells)


def test_holding_connections_counts_both_transports(tmp_path: Path) -> None:
    path = tmp_path / "hold.json"

    done = bench("--hold", "--hold-s", "2", "--subscribers", "20", "--json", str(path), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert (cell["kind"], cell["values"]["deliveries"], cell["values"]["lost"]) == ("hold", 40, 0)
    assert "20 connections in one process" in done.stdout


def test_several_processes_over_redis_are_compared_with_one_and_everybody_gets_everything(
    tmp_path: Path,
) -> None:
    require_tool("redis-server", "redis-server")
    path = tmp_path / "several.json"

    done = bench(
        *("--processes", "1,3", "--quick", "--subscribers", "30", "--transports", "sse"),
        *("--json", str(path)),
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text(encoding="utf-8"))
    kinds = {(cell["server"], cell["kind"]) for cell in document["cells"]}
    servers = ("memory-1", "redis-1", "redis-3")
    assert kinds == {(server, kind) for server in servers for kind in ("paced", "burst_http")}
    assert all(cell["values"]["deliveries"] for cell in document["cells"])
    redis_us = {cell["server"]: cell["values"].get("redis_cpu_us") for cell in document["cells"]}
    assert redis_us["memory-1"] is None
    assert redis_us["redis-1"] > 0
    assert redis_us["redis-3"] > 0
    assert document["oversubscribed"]["redis-3"] is (len(os.sched_getaffinity(0)) < 4)
    compared = {(each["of"], each["to"]) for each in document["ratios"]}
    assert compared == {("redis-1", "memory-1"), ("redis-3", "redis-1")}
    assert "redis-3/redis-1" in done.stdout


class FaultySource:
    """A server of event streams that writes what a test tells it to."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._streams: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.recv(65_536)
            self._streams.append(sock)
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + encode_prelude(retry_ms=1, id=f"{EPOCH}.0"))

    def write(self, offsets: Sequence[int]) -> None:
        """These notifications, in one piece, to everyone."""
        data = b"".join(wire.frame(wire.notification(EPOCH, each), TRANSPORT_SSE) for each in offsets)
        for sock in self._streams:
            sock.sendall(data)

    def hang_up(self) -> None:
        """The newest stream ends."""
        self._streams.pop().close()

    def close(self) -> None:
        # Whoever waits in `accept` is not woken by a close.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for sock in [self._listener, *self._streams]:
            sock.close()


@pytest.fixture
def source() -> Iterator[FaultySource]:
    made = FaultySource()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("arrived", "problems"),
    [
        ([1, 2, 3, 4], []),
        ([1, 2, 4], ["2 lost"]),
        ([1, 2, 3], ["2 lost"]),
        ([1, 2, 2, 3, 4], ["2 duplicate"]),
        ([1, 3, 2, 4], ["2 out of order"]),
        ([1, 4, 4], ["4 lost", "2 duplicate"]),
    ],
)
def test_what_a_server_does_wrong_is_noticed(
    source: FaultySource, arrived: list[int], problems: list[str]
) -> None:
    with subscriber_pool([Member(TRANSPORT_SSE)], "127.0.0.1", source.port) as subscribers:
        subscribers.grow(2)
        subscribers.begin(0)

        source.write(arrived)
        complete = subscribers.wait_for(4, timeout_s=10.0 if 4 in arrived else 0.3)
        result = subscribers.end(offset=4, starts_us=[0, 0, 0, 0], merges=False)

    assert complete == (4 in arrived)
    assert result.problems() == problems


def test_a_connection_that_the_server_ends_is_a_disconnect_and_its_notifications_are_lost(
    source: FaultySource,
) -> None:
    with subscriber_pool([Member(TRANSPORT_SSE)], "127.0.0.1", source.port) as subscribers:
        subscribers.grow(2)
        subscribers.begin(0)

        source.write([1])
        source.hang_up()
        source.write([2])
        subscribers.wait_for(2, timeout_s=10.0)
        result = subscribers.end(offset=2, starts_us=[0, 0], merges=False)

    assert result.problems() == ["1 lost", "1 disconnected", "1 torn"]


def test_a_server_that_refuses_is_named_and_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with (
        subscriber_pool([Member(TRANSPORT_SSE)], "127.0.0.1", port) as subscribers,
        pytest.raises(Unfit, match=r"Only 0 of 3 subscribers could connect: .*refused"),
    ):
        subscribers.grow(3)


def test_a_swarm_loads_neither_flask_nor_green_threads() -> None:
    program = "import sys, app.tools.bench.swarm_process, app.tools.bench.floor; print(*sorted({'flask', 'eventlet', 'gevent'} & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "everything"], 2, '"everything" is no part of the bench'),
        (["--transports", "smoke"], 2, '"smoke" is no transport'),
        (["--servers", ","], 2, "Name at least one server"),
        (["--subscribers", "0"], 2, "is not a whole number"),
        (["--repetitions", "-1"], 2, "is not a whole number"),
        (["--hold-s", "5"], 2, "add --hold"),
        (["--json", "/"], 2, "name a file"),
        (["--processes", "0"], 2, "is not a whole number"),
        (["--processes", ","], 2, "takes numbers of processes"),
        (["--processes", "1,4", "--servers", "floor"], 2, "leave --servers and --only out"),
        (["--processes", "1,4", "--hold"], 2, "name one"),
    ],
)
def test_a_wrong_flag_is_said_in_a_sentence_and_nothing_is_started(
    tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    done = bench(*arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_too_few_descriptors_are_said_before_anything_starts(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n 2000; exec "{sys.executable}" -P -m app bench --subscribers 5000'],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 3, done.stderr
    assert "open files" in done.stderr
