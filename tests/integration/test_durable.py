"""`sqlite:///` under a real server: what was answered with 201 is there after anything that may end a process."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.followers import Follower, Publisher, wait_for
from tests.support.server import (
    ADMIN_TOKEN,
    ROOT,
    RunningServer,
    ServerSettings,
    free_port,
    running_server,
    worker_of,
)
from tests.support.streams import sse

pytestmark = pytest.mark.slow

BROKER = "sqlite:///history.db"
"""Relative: in the folder where the server is started, which is the test's own."""


def kill_9(server: RunningServer) -> None:
    """Master, worker and companions at once, in the middle of whatever they do."""
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def history(server: RunningServer, after: int = 0) -> list[dict[str, Any]]:
    _status, answer = server.request("GET", f"/api/notifications?after={after}&limit=1000")
    return answer["notifications"]


def test_every_notification_answered_with_201_survives_kill_9_amid_publishing(tmp_path: Path) -> None:
    answered: list[dict[str, Any]] = []
    for life in range(2):
        with running_server(tmp_path, broker=BROKER, recorder=0) as server:
            assert {each["id"] for each in answered} <= {each["id"] for each in history(server)}
            publisher = Publisher(server, 10_000, keys=f"life-{life}")
            publisher.start()
            wait_for(publisher.has_answers(60), server.log)
            kill_9(server)
            answered += list(publisher.answered)
            publisher.gives_up.set()
            publisher.join()

    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        kept = {each["id"]: each for each in history(server)}
        latest = server.publish("after", "")

    assert all(each["id"] in kept for each in answered)
    offsets = [each["offset"] for each in kept.values()]
    assert offsets == sorted(set(offsets)) == list(range(1, len(offsets) + 1))
    assert latest["offset"] == len(offsets) + 1
    assert len({str(each["id"]).partition(".")[0] for each in (*answered, latest)}) == 1


def test_a_key_that_was_answered_before_kill_9_publishes_nothing_after_it(tmp_path: Path) -> None:
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        first = server.publish("once", "", idempotency_key="k")
        kill_9(server)
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        status, again = server.request(
            "POST", "/api/notifications", {"title": "once", "body": "", "idempotency_key": "k"}
        )
        conflict, _ = server.request(
            "POST", "/api/notifications", {"title": "twice", "body": "", "idempotency_key": "k"}
        )

    assert (status, again["id"], again["sent_us"]) == (200, first["id"], first["sent_us"])
    assert conflict == 409


@pytest.mark.parametrize("program", ["serve", "gunicorn"])
def test_a_second_server_on_the_same_history_is_refused_in_words(tmp_path: Path, program: str) -> None:
    command = {
        "serve": ["-m", "app", "serve", "--host", "127.0.0.1", "--port", str(free_port())],
        "gunicorn": ["-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app"],
    }[program]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SIAR_PORT": str(free_port()),
        "SIAR_ADMIN_TOKEN": ADMIN_TOKEN,
        "SIAR_BROKER": BROKER,
    }
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        second = subprocess.run(
            [sys.executable, "-P", *command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        server.publish("still", "here")

    assert second.returncode == {"serve": 3, "gunicorn": 1}[program]
    assert "history.db is in use by another server (process " in second.stderr
    assert "Traceback" not in second.stderr


def test_a_damaged_history_ends_the_start_in_words(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"not a history" * 1000)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "serve", "--port", str(free_port()), "--broker", BROKER],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert "Move it away to begin a new one" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_full_disk_publishing_is_refused_and_subscribers_stay(tmp_path: Path) -> None:
    """A limit on the size of files, put on the running worker: the kernel refuses its writes as a full disk does."""
    with running_server(tmp_path, broker=BROKER, recorder=0) as server, sse(server.port) as stream:
        for number in range(20):  # so that the log is longer than anything else that the worker writes
            server.publish(str(number), "y" * 20_000)
            assert stream.next_notification()["title"] == str(number)
        worker = worker_of(server)
        size = (tmp_path / "history.db-wal").stat().st_size
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        refused = [
            server.request("POST", "/api/notifications", {"title": "refused", "body": "y" * 20_000})
            for _ in range(3)
        ]
        kept = [each["title"] for each in history(server)]
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        accepted = server.publish("accepted", "")
        told = stream.next_notification()
        kill_9(server)

    assert [status for status, _ in refused] == [507] * 3
    assert "nothing was published" in refused[0][1]["detail"]
    assert kept == [str(number) for number in range(20)]
    assert (told["title"], told["id"], told["offset"]) == ("accepted", accepted["id"], 21)
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        assert [each["title"] for each in history(server)] == [*kept, "accepted"]


def test_the_worker_can_be_replaced_while_it_holds_the_history(tmp_path: Path) -> None:
    """SIGHUP starts the next worker before the old one has ended: it waits for the history, and loses nothing."""
    with running_server(tmp_path, broker=BROKER, recorder=0) as server:
        before = server.publish("before", "")
        old = worker_of(server).pid
        follower = Follower(server.port, "sse")
        follower.start()
        wait_for(lambda: follower.connections == 1, server.log)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: not psutil.pid_exists(old), server.log)
        after = server.publish("after", "")
        wait_for(lambda: "after" in follower.titles, server.log)
        follower.leaves.set()

    assert after["offset"] == before["offset"] + 1
    assert follower.gaps == []


@pytest.mark.parametrize(
    ("options", "told"),
    [({}, "memory"), ({"broker": BROKER + "?synchronous=full"}, "sqlite, synchronous=full")],
)
def test_the_server_says_whether_its_history_is_durable_and_not_where(
    tmp_path: Path, options: ServerSettings, told: str
) -> None:
    with running_server(tmp_path, recorder=0, **options) as server:
        server.publish()
        _status, version = server.request("GET", "/version")

    assert version["broker"] == told


@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_what_was_published_reaches_the_file_itself_soon_without_another_publish(
    tmp_path: Path, green_threads: str
) -> None:
    """The flush runs in a real thread under either green-thread library: what a power cut takes is bounded."""
    alone = tmp_path / "without-its-log.db"

    def flushed_count() -> int:
        shutil.copyfile(tmp_path / "history.db", alone)
        # A copy that was taken in the middle of the flush may be no database; the next one is.
        with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(alone)) as copied:
            return int(copied.execute("SELECT count(*) FROM notifications").fetchone()[0])
        return 0

    with running_server(tmp_path, broker=BROKER, recorder=0, green_threads=green_threads) as server:
        for _ in range(5):
            server.publish()
        wait_for(lambda: flushed_count() == 5, server.log)
