"""Disks that are full or read-only, and files that somebody else has locked: refused in words, and nobody is cut off."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import small_disk
from tests.support.followers import Follower, following, wait_for
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.small_disk import fill, on_small_disk, run_inside, seen_by

pytestmark = pytest.mark.slow

needs_mount = pytest.mark.usefixtures("mounts")


@pytest.fixture
def mounts() -> None:
    small_disk.require()


EVERYBODY = ("sse", "socketio")

SAMPLE = {
    "id": "e.1",
    "transport": "sse",
    "due_us": 1,
    "sent_us": 2,
    "received_client_us": 3.5,
    "state": "ok",
    "outcome": "on_time",
    "visible": True,
}


def publish(server: RunningServer, title: str) -> int:
    """The status."""
    return server.request("POST", "/api/notifications", {"title": title, "body": "y" * 5000})[0]


class Phone:
    """A registered device that posts what it measured."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._device: dict[str, str] = server.request("POST", "/api/devices", {})[1]

    def post(self, number: int) -> tuple[int, Any]:
        batch = {
            "batch_id": f"batch-{number:04}",
            "device": self._device["device"],
            "clock_channel": "websocket",
            "timebase": "00",
            "samples": [SAMPLE | {"id": f"e.{number}"}],
        }
        return self._server.request("POST", "/api/deliveries", batch, token=self._device["token"])


IDS = """
import contextlib, json, sqlite3, sys
with contextlib.closing(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)) as connection:
    print(json.dumps([row[0] for row in connection.execute("SELECT id FROM client_sample ORDER BY rowid")]))
"""


def stored_ids(server: RunningServer) -> list[str]:
    """Notifications of which a sample is in the live run's store; none while its maker is at work on it."""
    store = server.runs_dir / server.run / "run.sqlite"
    said = run_inside(server, IDS, str(store))
    return json.loads(said) if said else []


def assert_heard(followers: list[Follower], titles: list[str], server: RunningServer) -> None:
    """Everyone has exactly these, on the connection that it had from the start."""
    wait_for(lambda: all(len(each.titles) >= len(titles) for each in followers), server.log)
    for each in followers:
        assert (each.titles, each.gaps, each.connections) == (titles, [], 1)


@needs_mount
def test_while_the_disk_of_the_history_is_full_publishing_is_refused_and_subscribers_stay(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    command = on_small_disk(disk, options="size=2m")
    settings: ServerSettings = {"broker": "sqlite:///disk/history.db", "recorder": 0, "heartbeat_s": 1}
    with (
        running_server(tmp_path, command=command, **settings) as server,
        following(server.port, EVERYBODY) as followers,
    ):
        for number in range(5):
            assert publish(server, f"before {number}") == 201
        filler = fill(seen_by(server, disk))
        # What SQLite's log had in reserve may take a few more; those count like any other.
        taken = [number for number in range(30) if publish(server, f"full {number}") == 201]
        status, refusal = server.request(
            "POST", "/api/notifications", {"title": "refused", "body": "y" * 5000}
        )
        filler.unlink()
        assert publish(server, "after") == 201

        assert (status, "nothing was published" in refusal["detail"]) == (507, True)
        titles = (
            [f"before {number}" for number in range(5)] + [f"full {number}" for number in taken] + ["after"]
        )
        assert_heard(followers, titles, server)
        history = server.request("GET", "/api/notifications")[1]["notifications"]
        assert [each["title"] for each in history] == titles
        assert [each["offset"] for each in history] == list(range(1, len(titles) + 1))
        assert "Traceback" not in server.log(), server.log()


@needs_mount
def test_while_the_disk_of_the_runs_is_full_phones_are_told_and_nothing_that_was_taken_is_lost(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "runs"
    with (
        running_server(tmp_path, command=on_small_disk(runs, options="size=2m"), heartbeat_s=1) as server,
        following(server.port, EVERYBODY) as followers,
    ):
        phone = Phone(server)
        assert phone.post(0)[0] == 200
        wait_for(lambda: stored_ids(server) == ["e.0"], server.log)
        filler = fill(seen_by(server, runs))
        answers = [phone.post(number) for number in range(1, 40)]
        publish(server, "still here")
        filler.unlink()
        assert phone.post(40)[0] == 200

        refused = [answer for status, answer in answers if status != 200]
        assert refused, "the disk did not fill"
        assert {answer["status"] for answer in refused} == {507}
        taken = [number for number, (status, _) in enumerate(answers, start=1) if status == 200]
        wait_for(
            lambda: stored_ids(server) == [f"e.{number}" for number in (0, *taken, 40)],
            lambda: f"{stored_ids(server)}; {server.log()}",
        )
        assert_heard(followers, ["still here"], server)
        assert "Traceback" not in server.log(), server.log()


@needs_mount
def test_a_read_only_history_ends_the_start_in_words(tmp_path: Path) -> None:
    command = on_small_disk(tmp_path / "disk", options="size=1m,ro")
    with (
        pytest.raises(AssertionError, match=r"history.*cannot be opened") as ended,
        running_server(tmp_path, command=command, broker="sqlite:///disk/history.db", recorder=0),
    ):
        pass

    assert "Traceback" not in str(ended.value)


@needs_mount
def test_on_a_read_only_folder_of_runs_notifications_go_on_and_phones_are_told(tmp_path: Path) -> None:
    command = on_small_disk(tmp_path / "runs", options="size=1m,ro")
    with (
        running_server(tmp_path, command=command, heartbeat_s=1) as server,
        following(server.port, EVERYBODY) as followers,
    ):
        status, refusal = Phone(server).post(1)
        publish(server, "still here")

        assert (status, refusal["status"]) == (507, 507)
        assert_heard(followers, ["still here"], server)
        assert "what phones post is not stored" in server.log()
        assert "Traceback" not in server.log(), server.log()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """As a person's sqlite3 tool in the middle of a transaction."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_while_somebody_has_the_history_locked_publishing_is_refused_and_subscribers_stay(
    tmp_path: Path,
) -> None:
    with (
        running_server(tmp_path, broker="sqlite:///history.db", recorder=0, heartbeat_s=1) as server,
        following(server.port, EVERYBODY) as followers,
    ):
        assert publish(server, "before") == 201
        with locked(tmp_path / "history.db"):
            status, refusal = server.request("POST", "/api/notifications", {"title": "refused", "body": ""})
        assert publish(server, "after") == 201

        assert (status, "nothing was published" in refusal["detail"]) == (507, True)
        assert_heard(followers, ["before", "after"], server)


@needs_mount  # For looking into it as the server does.
def test_while_somebody_has_a_store_locked_phones_post_on_and_all_of_it_is_stored_afterwards(
    tmp_path: Path,
) -> None:
    with running_server(tmp_path) as server:
        phone = Phone(server)
        phone.post(0)
        wait_for(lambda: stored_ids(server) == ["e.0"], server.log)
        with locked(server.runs_dir / server.run / "run.sqlite"):
            statuses = [phone.post(number)[0] for number in range(1, 20)]
            assert stored_ids(server) == ["e.0"]

        assert set(statuses) == {200}
        wait_for(lambda: stored_ids(server) == [f"e.{number}" for number in range(20)], server.log)
