"""The broker that the settings ask for, with their bounds; and one server for each history on a disk."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from app.core.errors import StoreError, Unfit
from app.core.position import Position
from app.server.broker.make import check_broker, make_broker, make_history_cache
from app.server.broker.memory import MemoryBroker
from app.server.broker.sqlite.lockfile import LockFile
from app.settings import Settings
from tests.support.brokers import missed, offsets, publish


def made(**settings: object) -> MemoryBroker:
    broker = make_broker(Settings(**settings))  # type: ignore[arg-type]
    assert isinstance(broker, MemoryBroker)
    return broker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def test_without_a_word_history_is_in_memory_and_each_start_is_another_life() -> None:
    first, second = made(), made()

    assert type(first) is type(second) is MemoryBroker
    assert first.position().epoch != second.position().epoch


@pytest.mark.parametrize(
    ("bounds", "body", "kept"),
    [({"history_count": 2}, "x", [2, 3]), ({"history_bytes": 1024}, "x" * 600, [3])],
)
def test_history_holds_as_much_as_the_settings_say(
    bounds: dict[str, int], body: str, kept: list[int]
) -> None:
    broker = made(**bounds)
    for _ in range(3):
        publish(broker, body)

    assert offsets(missed(broker, Position(broker.position().epoch, 0))) == kept


def test_a_history_on_a_disk_is_there_again(path: Path) -> None:
    broker = made(broker=f"sqlite:///{path}")
    seen = publish(broker).notification.position
    broker.close()

    again = made(broker=f"sqlite:///{path}")
    position = again.position()
    again.close()

    assert position == seen


def test_a_start_that_fails_on_a_damaged_history_does_not_keep_it_from_the_next(path: Path) -> None:
    broker = made(broker=f"sqlite:///{path}")
    publish(broker)
    broker.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE notifications SET json = 'no json'")
    connection.close()

    with pytest.raises(StoreError):
        made(broker=f"sqlite:///{path}")

    LockFile(path, wait_s=0).release()


def test_a_look_before_the_start_leaves_the_history_free(path: Path) -> None:
    check_broker(Settings(broker=f"sqlite:///{path}"))

    LockFile(path, wait_s=0).release()
    assert path.is_file()


def test_a_history_has_one_server_and_a_second_one_learns_which(path: Path) -> None:
    lock = LockFile(path, wait_s=0)

    with pytest.raises(Unfit, match=rf"process {os.getpid()}\)"):
        LockFile(path, wait_s=0)
    lock.release()


def test_a_server_waits_for_the_one_that_it_replaces(path: Path) -> None:
    leaving = LockFile(path, wait_s=0)
    threading.Timer(0.1, leaving.release).start()

    LockFile(path, wait_s=9).release()  # Long beside the 0.1 s, and less than what `make_broker` waits.


def test_answers_are_kept_only_where_the_settings_ask_for_it() -> None:
    assert make_history_cache(Settings(), made()) is None
