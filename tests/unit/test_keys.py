"""Idempotency keys: what makes two drafts the same, and how many are remembered."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.core.errors import Conflict
from app.core.notification import Targets
from app.core.units import ServerUs
from app.server.broker.base import Draft
from app.server.broker.keys import KEYS_MAX, Keys, Use, fingerprint

DRAFT = Draft("t", "b", "news", ServerUs(40), {"a": 1}, ttl_us=9, idempotency_key="k")


def a_use(offset: int, draft: Draft = DRAFT) -> Use:
    return Use(fingerprint(draft), offset, draft.due_us, draft.due_us, {})


@pytest.mark.parametrize(
    "change",
    [
        {"title": "u"},
        {"body": "c"},
        {"topic": "olds"},
        {"data": {"a": 2}},
        {"ttl_us": None},
        {"targets": Targets(transport="sse")},
        {"targets": Targets(devices=frozenset())},
        {"targets": Targets(devices=frozenset({"one"}))},
    ],
)
def test_a_key_that_stands_for_something_else_is_a_conflict(change: dict[str, Any]) -> None:
    keys = Keys()
    keys.remember("k", a_use(7))

    with pytest.raises(Conflict):
        keys.find(replace(DRAFT, **change))


def test_a_retry_may_stamp_anew() -> None:
    keys = Keys()
    keys.remember("k", a_use(7))

    assert keys.find(replace(DRAFT, due_us=41)) == a_use(7)


def test_devices_in_another_order_are_the_same_devices() -> None:
    one, two = (
        replace(DRAFT, targets=Targets(devices=frozenset(names))) for names in (["a", "b"], ["b", "a"])
    )

    assert fingerprint(one) == fingerprint(two)


def test_without_a_key_nothing_is_found() -> None:
    keys = Keys()
    keys.remember("k", a_use(7))

    assert keys.find(replace(DRAFT, idempotency_key=None)) is None
    assert keys.find(replace(DRAFT, idempotency_key="another")) is None


def test_as_many_are_remembered_as_are_promised_and_the_oldest_goes_first() -> None:
    assert Keys().first_offset is None
    keys = Keys()

    for offset in range(1, KEYS_MAX + 1):
        keys.remember(f"key {offset}", a_use(offset))
    full = (len(keys), keys.first_offset)
    keys.remember("one more", a_use(KEYS_MAX + 1))

    assert full == (KEYS_MAX, 1)
    assert (len(keys), keys.first_offset) == (KEYS_MAX, 2)
