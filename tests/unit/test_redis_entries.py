"""A notification as Redis keeps it: what comes back is what was put in, and what is not ours is refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import StoreError
from app.core.notification import EVERYONE, Targets
from app.core.units import ServerUs
from app.server.broker.base import Draft
from app.server.broker.redis.entries import decode_entry, decode_use, encode_draft, encode_use, offset_of


def a_draft(**members: Any) -> Draft:
    return Draft(title="t", body="b", topic="news", due_us=ServerUs(40), data={"a": [1]}, **members)


@pytest.mark.parametrize(
    "targets",
    [
        EVERYONE,
        Targets(transport="sse"),
        Targets(devices=frozenset({"one", "two"})),
        Targets(transport="socketio", devices=frozenset({"one"})),
    ],
)
@pytest.mark.parametrize("trial", [True, False])
def test_a_draft_comes_back_as_it_was(targets: Targets, trial: bool) -> None:
    kept = encode_draft(a_draft(targets=targets, trial=trial), epoch="old", mark="m", sent_us=ServerUs(50))

    entry = kept.entry(7)
    notification = entry.notification("new")

    assert (entry.offset, entry.mark, entry.epoch, entry.is_trial) == (7, "m", "old", trial)
    assert (entry.targets, notification.targets) == (targets, targets)
    assert (notification.id, notification.due_us, notification.sent_us) == ("new.7", 40, 50)
    assert (notification.title, notification.body, notification.topic) == ("t", "b", "news")
    assert notification.data == {"a": [1]}


@pytest.mark.parametrize(("ttl_us", "expires_us"), [(None, None), (0, 50), (25, 75)])
def test_its_end_counts_from_when_it_was_sent(ttl_us: int | None, expires_us: int | None) -> None:
    entry = encode_draft(a_draft(ttl_us=ttl_us), epoch="e", mark="m", sent_us=ServerUs(50)).entry(1)

    assert entry.expires_us == expires_us
    assert entry.notification("e").expires_us == expires_us


def test_whom_it_is_for_never_stands_in_what_goes_over_the_wire() -> None:
    kept = encode_draft(
        a_draft(targets=Targets(devices=frozenset({"secret"}))), epoch="e", mark="m", sent_us=ServerUs(5)
    )

    assert "secret" not in kept.wire
    assert "secret" in kept.metadata


def test_an_offset_is_the_first_half_of_an_id() -> None:
    assert [offset_of(id) for id in (b"12-0", b"0-5", b"7")] == [12, 0, 7]


def test_the_use_of_a_key_comes_back_without_connections() -> None:
    use = decode_use(b"12 " + encode_use("print", ServerUs(40), ServerUs(50)).encode())

    assert (use.offset, use.fingerprint, use.due_us, use.sent_us) == (12, "print", ServerUs(40), ServerUs(50))
    assert use.recipients == {"sse": 0, "socketio": 0}


GOOD = [b"mark", b"m", b"sent", b"", b"wire", b'"topic":"t"}', b"beside", b'["e",false,null,null]']


def foreign(place: int, value: bytes) -> list[bytes]:
    return [*GOOD[:place], value, *GOOD[place + 1 :]]


@pytest.mark.parametrize(
    "fields",
    [
        GOOD[:6],
        foreign(5, b"no json"),
        foreign(7, b"no json"),
        foreign(7, b'["e",false,null]'),
        foreign(7, b'["e",false,[],null]'),
        foreign(7, b"5"),
        foreign(1, b"\xff"),
    ],
)
def test_what_is_no_entry_of_ours_is_refused_in_words(fields: list[bytes]) -> None:
    with pytest.raises(StoreError, match=r"is no history of Siar .*name another with"):
        decode_entry(b"1-0", fields)


def test_an_entry_that_lacks_what_a_notification_has_is_refused_in_words() -> None:
    with pytest.raises(StoreError, match="is no history of Siar"):
        decode_entry(b"1-0", GOOD).notification("e")


def test_an_entry_whose_stamp_is_no_integer_is_refused_in_words() -> None:
    good = encode_draft(a_draft(), epoch="e", mark="m", sent_us=ServerUs(50)).entry(1)
    good.wire["due_us"] = "40"

    with pytest.raises(StoreError, match="is no history of Siar"):
        good.notification("e")


@pytest.mark.parametrize("text", [b"", b"12 print 40", b"12 print 40 50 60", b"x print 40 50", b"\xff a 1 2"])
def test_a_use_that_is_not_ours_is_refused_in_words(text: bytes) -> None:
    with pytest.raises(StoreError, match="is no history of Siar"):
        decode_use(text)
