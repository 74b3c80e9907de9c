"""`redis://` and `redis+sentinel://`: what the broker's URL says, and what it must never show."""

import pytest

from app.core.broker_url import RedisAddress, parse_broker_url
from app.core.errors import SettingError
from app.lab.measure import host
from app.server.broker.make import check_broker
from app.settings import Settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://127.0.0.1", RedisAddress((("127.0.0.1", 6379),))),
        ("redis://redis:6380/3", RedisAddress((("redis", 6380),), db=3)),
        ("redis://[::1]:6380", RedisAddress((("::1", 6380),))),
        (
            "redis://me:a%40b@h?prefix=room-2",
            RedisAddress((("h", 6379),), username="me", password="a@b", prefix="room-2"),
        ),
        ("redis://:secret@h", RedisAddress((("h", 6379),), password="secret")),
        (
            "redis+sentinel://a,b:27000/main/1",
            RedisAddress((("a", 26379), ("b", 27000)), service="main", db=1),
        ),
        ("rediss://h:6380/2", RedisAddress((("h", 6380),), db=2, tls=True)),
        (
            "rediss+sentinel://me:pw@a/main",
            RedisAddress((("a", 26379),), service="main", username="me", password="pw", tls=True),
        ),
    ],
)
def test_the_url_says_which_redis_and_which_history_in_it(text: str, expected: RedisAddress) -> None:
    found = parse_broker_url(text)

    assert found.redis == expected
    assert found.is_shared


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("redis://", "no host"),
        ("redis://h:x", "port"),
        ("redis://h:99999", "port"),
        ("redis://a,b", "sentinels"),
        ("redis://h/one", "database"),
        ("redis://h?timeout=1", "prefix"),
        ("redis://h?prefix=a%20b", "prefix"),
        ("redis+sentinel://h", "service"),
        ("redis+sentinel://h/two%20words/1", "service"),
        ("redis+sentinel://h/main/no%20number", "database"),
        ("rediss://a,b", r"rediss\+sentinel"),
        ("amqps://h", "must be"),
    ],
)
def test_a_url_that_names_no_redis_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        parse_broker_url(text)


@pytest.mark.parametrize(
    "text",
    [
        "redis://somebody:hunter2@h/x",
        "redis://:hunter2@h?y=1",
        "rediss://somebody:hunter2@h/x",
        "amqp://somebody:hunter2@h",
        "redis://somebody:an@sign-hunter2@h/x",
    ],
)
def test_no_user_and_no_password_is_shown_in_a_refusal(text: str) -> None:
    with pytest.raises(SettingError) as refused:
        parse_broker_url(text)

    assert "hunter2" not in str(refused.value)
    assert "somebody" not in str(refused.value)


def test_no_user_and_no_password_is_shown_with_the_address() -> None:
    address = parse_broker_url("rediss://somebody:hunter2@h").redis

    assert "hunter2" not in f"{address} {address!r}"
    assert "somebody" not in f"{address} {address!r}"


def test_no_user_and_no_password_gets_into_what_a_run_records() -> None:
    settings = {"SIAR_BROKER": "rediss://somebody:hunter2@redis.example:6380/1", "SIAR_WORKERS": "1"}

    recorded = host.conditions(settings=settings, server={})["settings"]

    assert recorded == {"SIAR_BROKER": "rediss://...@redis.example:6380/1", "SIAR_WORKERS": "1"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("memory://", "memory"),
        ("sqlite:////var/lib/siar/history.db", "sqlite, synchronous=normal"),
        ("redis://me:pw@h", "redis"),
        ("rediss://me:pw@h", "redis, TLS"),
        ("redis+sentinel://h/main", "redis, sentinels"),
        ("rediss+sentinel://h/main", "redis, TLS, sentinels"),
    ],
)
def test_only_the_kind_of_broker_is_public(text: str, kind: str) -> None:
    assert parse_broker_url(text).kind == kind


def test_an_authority_that_is_not_there_is_refused_before_anything_starts() -> None:
    with pytest.raises(SettingError, match="SIAR_BROKER_CA"):
        check_broker(Settings(broker="rediss://h", broker_ca="nowhere.pem"))


@pytest.mark.parametrize("broker", ["memory://", "sqlite:///h.db"])
def test_several_processes_without_a_shared_broker_are_refused(broker: str) -> None:
    with pytest.raises(SettingError, match="redis://"):
        Settings(broker=broker, workers=2)


def test_several_processes_may_share_redis() -> None:
    assert Settings(broker="redis://h", workers=2).workers == 2
