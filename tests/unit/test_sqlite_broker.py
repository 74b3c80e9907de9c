"""What only a durable history can do: fill a disk, be damaged, be cut off, be opened twice."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.broker_url import BrokerUrl, parse_broker_url
from app.core.errors import NotKept, SettingError, StoreError, Unfit
from app.core.notification import Notification, Targets
from app.core.position import Position
from app.core.units import ServerUs
from app.server.broker.base import Filter, Published
from app.server.broker.keys import KEYS_MAX, Use
from app.server.broker.memory import MemoryBroker
from app.server.broker.sqlite import journal_file
from app.server.broker.sqlite.broker import DROP_AT_ROWS, SqliteBroker
from app.server.broker.sqlite.journal import UNFLUSHED_OFFSETS_MAX, Journal, JournalRow
from tests.support.brokers import AGE_MAX_US, BrokerHost, missed, offsets, one_by_one, publish, publish_all


@pytest.fixture
def host(tmp_path: Path) -> Iterator[BrokerHost]:
    host = BrokerHost("sqlite", tmp_path)
    host.start()
    yield host
    host.broker.close()


def rewrite(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def rows_in(path: Path, table: str = "notifications") -> int:
    """How many of them stand in the file and its log."""
    connection = sqlite3.connect(path)
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(rows)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "history.db", synchronous="normal", wait_s=0)
    yield journal
    journal.close(journal.state)


@pytest.fixture
def source() -> MemoryBroker:
    """Where notifications for a journal come from."""
    return MemoryBroker(count_max=10, bytes_max=10**6, age_max_us=AGE_MAX_US)


def start_again(path: Path) -> None:
    """What a start says of the file."""
    journal = Journal(path, synchronous="normal", wait_s=0)
    try:
        SqliteBroker(journal, count_max=10, bytes_max=10**6, age_max_us=AGE_MAX_US).close()
    finally:
        journal.close(journal.state)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memory://", BrokerUrl(None)),
        ("sqlite:///history.db", BrokerUrl(Path("history.db"))),
        ("sqlite:///folder/history.db", BrokerUrl(Path("folder/history.db"))),
        ("sqlite:////var/lib/siar/a%20b.db", BrokerUrl(Path("/var/lib/siar/a b.db"))),
        ("sqlite:///h.db?synchronous=full", BrokerUrl(Path("h.db"), "full")),
    ],
)
def test_a_url_says_where_history_lives(text: str, expected: BrokerUrl) -> None:
    assert parse_broker_url(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "memory",
        "memory://x",
        "rediss+sqlite://host",
        "sqlite://history.db",
        "sqlite:///",
        "sqlite:///folder/",
        "sqlite:///:memory:",
        "sqlite:///h.db?synchronous=off",
        "sqlite:///h.db?synchronous=",
        "sqlite:///h.db?cache=shared",
        "sqlite:///h.db#x",
        "/history.db",
    ],
)
def test_another_url_is_refused_in_words(text: str) -> None:
    with pytest.raises(SettingError, match="SIAR_BROKER is"):
        parse_broker_url(text)


def test_targets_and_time_to_live_survive(host: BrokerHost) -> None:
    start = host.broker.position()
    devices = publish(host.broker, targets=Targets(devices=frozenset({"d-1", "d-2"}))).notification
    transport = publish(host.broker, targets=Targets(transport="socketio"), ttl_us=10**12).notification

    broker = host.kill_and_start()

    assert devices.targets.devices == {"d-1", "d-2"}
    assert transport.expires_us is not None
    for_device = missed(broker, start, Filter("socketio", None, "d-2")).notifications
    assert for_device == (devices, transport)
    assert offsets(missed(broker, start, Filter("sse", None, "d-3"))) == []


@pytest.mark.parametrize("how", ["restart", "kill_and_start"])
def test_an_idempotency_key_stands_across_a_restart(host: BrokerHost, how: str) -> None:
    host.broker.listen(one_by_one(lambda _: {"sse": 3, "socketio": 0}))
    first = publish(host.broker, idempotency_key="k", data={"n": 1})

    broker = getattr(host, how)()
    again = publish(broker, idempotency_key="k", data={"n": 1})

    assert again.repeated
    assert again.notification == first.notification
    assert again.recipients == {"sse": 0, "socketio": 0}, "nobody of this process"
    assert broker.position().offset == 1


@pytest.mark.parametrize("how", ["restart", "kill_and_start"])
def test_a_gap_of_what_was_dropped_is_known_after_a_restart(tmp_path: Path, how: str) -> None:
    host = BrokerHost("sqlite", tmp_path)
    start = host.start(count_max=5).position()
    for _ in range(300):
        publish(host.broker)

    replay = missed(getattr(host, how)(), start)
    host.broker.close()

    assert replay.gap is not None
    assert (replay.gap.first, replay.gap.last, replay.gap.reason) == (1, 295, "expired")
    assert offsets(replay) == [296, 297, 298, 299, 300]


def test_a_key_outlives_its_notification_on_the_disk_too(tmp_path: Path) -> None:
    host = BrokerHost("sqlite", tmp_path)
    host.start(count_max=5)
    first = publish(host.broker, idempotency_key="k").notification
    for _ in range(2 * DROP_AT_ROWS):
        publish(host.broker)

    again = publish(host.restart(), idempotency_key="k")
    host.broker.close()

    assert again.repeated
    assert again.notification.offset == first.offset


def test_a_history_that_may_hold_nothing_holds_nothing_on_the_disk_either(tmp_path: Path) -> None:
    host = BrokerHost("sqlite", tmp_path)
    host.start(bytes_max=1)
    for _ in range(3 * DROP_AT_ROWS):
        publish(host.broker)
    host.broker.close()

    assert rows_in(host.path) <= DROP_AT_ROWS


def test_what_history_holds_no_more_stays_on_the_disk_until_there_is_enough_to_drop_at_once(
    tmp_path: Path,
) -> None:
    host = BrokerHost("sqlite", tmp_path)
    host.start(count_max=5)

    for _ in range(5 + DROP_AT_ROWS):
        publish(host.broker)
    before = rows_in(host.path)
    publish(host.broker)
    after = rows_in(host.path)
    host.broker.close()

    assert before == 5 + DROP_AT_ROWS
    assert after == 5 + 1, "those that history held, and the new one"


def test_what_cannot_all_be_forgotten_is_all_kept(journal: Journal, source: MemoryBroker) -> None:
    """The disk fails between the notifications and their keys."""
    for _ in range(2):
        notification = publish(source).notification
        use = Use("fingerprint", notification.offset, due_us=ServerUs(1), sent_us=ServerUs(2), recipients={})
        journal.append([JournalRow(notification, f"key {notification.offset}", use)], journal.state)
    rewrite(
        journal.path,
        "CREATE TRIGGER failing BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'disk failure'); END",
    )

    with pytest.raises(NotKept, match="disk failure"):
        journal.drop_before(notification=2, use=2, state=replace(journal.state, expired_through=1))

    assert [each.offset for each in journal.notifications()] == [1, 2]
    assert [key for key, _ in journal.uses()] == ["key 1", "key 2"]
    assert (journal.notification_count, journal.state.expired_through) == (2, 0)


def test_where_too_much_is_unflushed_one_write_flushes_it_first_and_the_next_ones_need_not(
    journal: Journal, source: MemoryBroker
) -> None:
    """What is written goes into the log; only a flush changes the file itself."""
    journal.reserve(replace(journal.state, trials_through=UNFLUSHED_OFFSETS_MAX))
    files = [journal.path.read_bytes()]

    for _ in range(3):
        journal.append([JournalRow(publish(source).notification)], journal.state)
        files.append(journal.path.read_bytes())

    assert files[0] != files[1]
    assert files[1] == files[2] == files[3]


@pytest.mark.slow
def test_the_bounds_hold_on_the_disk_too(tmp_path: Path) -> None:
    """Eight times what history holds goes through it, and the files stay as large as after the first time."""
    host = BrokerHost("sqlite", tmp_path)
    host.start(count_max=2 * UNFLUSHED_OFFSETS_MAX // 10)
    rounds: list[int] = []
    for _ in range(8):
        for number in range(UNFLUSHED_OFFSETS_MAX // 5):
            publish(host.broker, body="y" * 500, idempotency_key=f"{len(rounds)}.{number}")
        rounds.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
    host.restart()
    rows, keys = rows_in(host.path), rows_in(host.path, "keys")
    size = host.path.stat().st_size
    host.broker.close()

    assert rows <= 2 * UNFLUSHED_OFFSETS_MAX // 10 + DROP_AT_ROWS
    assert keys <= KEYS_MAX + DROP_AT_ROWS
    assert size < 5_000_000
    assert max(rounds) < 45_000_000


def test_a_file_that_was_emptied_by_its_bounds_shrinks_at_the_next_start(tmp_path: Path) -> None:
    host = BrokerHost("sqlite", tmp_path)
    host.start()
    for _ in range(200):
        publish(host.broker, body="y" * 20_000)
    host.restart()
    before = host.path.stat().st_size
    host.broker.close()
    host.start(count_max=5)
    publish(host.broker)

    host.restart()
    after = host.path.stat().st_size
    host.broker.close()

    assert before > 4_000_000
    assert after < 500_000


def test_a_second_server_on_the_same_file_is_refused_in_words(host: BrokerHost) -> None:
    with pytest.raises(Unfit, match=r"in use by another server \(process \d+\)"):
        Journal(host.path, synchronous="normal", wait_s=0.1)

    assert publish(host.broker).notification.offset == 1


def test_a_file_that_is_no_history_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    text, other = tmp_path / "letter.txt", tmp_path / "other.db"
    text.write_text("Dear SQLite, " * 1000)
    rewrite(other, "CREATE TABLE accounts (name TEXT)")
    before = text.read_bytes(), other.read_bytes()

    with pytest.raises(StoreError, match="damaged"):
        start_again(text)
    with pytest.raises(StoreError, match="not a history of Siar's"):
        start_again(other)

    assert (text.read_bytes(), other.read_bytes()) == before


def test_a_newer_format_is_refused(host: BrokerHost) -> None:
    host.broker.close()
    rewrite(host.path, f"PRAGMA user_version = {journal_file.VERSION + 1}")

    with pytest.raises(StoreError, match="newer Siar"):
        start_again(host.path)
    host.path.unlink()
    host.start()


def test_a_damaged_history_is_refused_and_never_begun_anew_in_silence(host: BrokerHost) -> None:
    for _ in range(2000):
        publish(host.broker, body="y" * 200)
    host.broker.close()
    whole = host.path.read_bytes()
    for damage in (
        whole[: len(whole) // 2],
        whole[:8192] + bytes(len(whole) - 8192),
        b"x" * 100 + whole[100:],
    ):
        host.path.write_bytes(damage)

        with pytest.raises(StoreError, match="Move it away to begin a new one"):
            start_again(host.path)
    host.path.write_bytes(whole)
    host.start()


@pytest.mark.parametrize("where", ["missing-folder/history.db", "."])
def test_a_place_where_no_file_can_be_is_refused_in_words(tmp_path: Path, where: str) -> None:
    with pytest.raises(Unfit, match="cannot be opened"):
        Journal(tmp_path / where, synchronous="normal", wait_s=0)


def test_a_file_that_was_deleted_begins_a_new_epoch(host: BrokerHost) -> None:
    seen = publish(host.broker).notification.position
    host.broker.close()
    host.path.unlink()

    replay = missed(host.start(), seen)

    assert replay.gap is not None
    assert replay.gap.reason == "epoch"


def test_after_a_power_cut_what_may_have_been_cut_off_is_a_gap_and_no_offset_comes_again(
    host: BrokerHost,
) -> None:
    """The machine's next start has another boot id, and the log is as long as the disk had it."""
    rewrite(host.path, "UPDATE state SET opened = 'normal another-start-of-the-machine'")
    seen = [publish(host.broker).notification.position for _ in range(5)]
    on_the_disk = {path: path.read_bytes() for path in host.path.parent.glob("*.db*")}
    unseen = [publish(host.broker).notification.position for _ in range(3)]
    host.broker.close()
    for path, content in on_the_disk.items():
        path.write_bytes(content)

    broker = host.start()
    replay = missed(broker, seen[1])
    ahead = missed(broker, unseen[-1])

    assert offsets(replay) == [3, 4, 5]
    assert replay.gap is not None
    assert replay.gap.last > unseen[-1].offset
    assert publish(broker).notification.offset > UNFLUSHED_OFFSETS_MAX
    assert ahead.gap is not None
    assert broker.position().epoch == seen[0].epoch


def test_with_a_flush_for_each_publish_a_power_cut_takes_nothing(host: BrokerHost) -> None:
    rewrite(host.path, "UPDATE state SET opened = 'full another-start-of-the-machine'")
    seen = publish(host.broker).notification.position
    missed_one = publish(host.broker).notification

    replay = missed(host.kill_and_start(), seen)

    assert (replay.gap, replay.notifications) == (None, (missed_one,))


def test_a_log_that_was_taken_away_is_noticed(host: BrokerHost) -> None:
    seen = publish(host.broker).notification.position
    alone = host.path.with_name("copied-without-its-log.db")
    shutil.copyfile(host.path, alone)
    journal = Journal(alone, synchronous="normal", wait_s=0)
    broker = SqliteBroker(journal, count_max=10, bytes_max=10**6, age_max_us=AGE_MAX_US)

    replay = missed(broker, seen)
    broker.close()

    assert replay.gap is not None


def test_trials_cost_one_commit_for_many_and_are_a_gap_after_a_kill(host: BrokerHost) -> None:
    start = publish(host.broker).notification.position
    log = host.path.with_name(host.path.name + "-wal")
    publish(host.broker, trial=True, topic="trial.1")
    before = log.stat().st_size
    last = [publish(host.broker, trial=True, topic="trial.1") for _ in range(500)][-1].notification.position
    after = log.stat().st_size

    broker = host.kill_and_start()

    assert after == before
    assert broker.position().offset >= last.offset
    gap = missed(broker, last).gap
    assert gap is not None
    assert gap.last == broker.position().offset
    assert missed(broker, start).gap is not None


def test_a_trial_that_ended_before_an_orderly_end_leaves_no_hole_in_the_offsets(host: BrokerHost) -> None:
    last = [publish(host.broker, trial=True, topic="trial.1") for _ in range(5)][-1].notification.position

    broker = host.restart()

    assert broker.position() == Position(last.epoch, 5)
    assert missed(broker, last).gap is None


def test_what_cannot_be_written_is_not_published_and_the_next_one_is(host: BrokerHost) -> None:
    """Another program holds the file, as a full disk would: real, and it ends."""
    told: list[int] = []

    def tell(notification: Notification) -> dict[str, Any]:
        told.append(notification.offset)
        return {}

    host.broker.listen(one_by_one(tell))
    publish(host.broker)
    other = sqlite3.connect(host.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(NotKept, match="Not published"):
        publish(host.broker, idempotency_key="k")
    other.execute("ROLLBACK")
    other.close()
    again = publish(host.broker, idempotency_key="k")

    assert not again.repeated
    assert told == [1, 2]
    assert offsets(missed(host.kill_and_start(), Position(host.broker.position().epoch, 0))) == [1, 2]


def test_what_is_published_together_is_one_transaction_and_none_of_it_where_that_fails(
    host: BrokerHost,
) -> None:
    """The disk fails in the middle of the transaction."""
    told: list[int] = []

    def tell(notification: Notification) -> dict[str, Any]:
        told.append(notification.offset)
        return {}

    host.broker.listen(one_by_one(tell))
    rewrite(
        host.path,
        "CREATE TRIGGER failing BEFORE INSERT ON notifications WHEN NEW.offset = 2 "
        "BEGIN SELECT RAISE(ABORT, 'disk failure'); END",
    )
    wanted: list[dict[str, Any]] = [{"idempotency_key": "a"}, {"idempotency_key": "b"}, {}]

    with pytest.raises(NotKept, match="disk failure"):
        publish_all(host.broker, *wanted)
    rewrite(host.path, "DROP TRIGGER failing")
    again = publish_all(host.broker, *wanted)

    assert [each.repeated for each in again if isinstance(each, Published)] == [False] * 3
    assert told == [1, 2, 3]
    assert rows_in(host.path) == 3
