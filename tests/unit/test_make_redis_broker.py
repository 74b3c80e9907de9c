"""The broker that `redis://` makes, with a Redis that knows just enough to be begun with."""

from __future__ import annotations

import hashlib
import logging
import socketserver
import threading
from collections.abc import Iterator

import pytest

from app import clock
from app.server.broker.make import make_broker, make_history_cache
from app.server.broker.redis import link, rooms, scripts
from app.settings import Settings

NAMES = {
    hashlib.sha1(getattr(scripts, name).encode(), usedforsecurity=False).hexdigest(): name
    for name in ("JOIN", "READ", "CLAIM", "KEEP")
}
"""Redis calls a script by the digest of its text."""

ANSWERS = {
    "INFO server": b"$19\r\nredis_version:7.0.0\r\n",
    "INFO persistence": b"$13\r\naof_enabled:0\r\n",
    "CONFIG GET": b"*2\r\n$11\r\nappendfsync\r\n$2\r\nno\r\n",
    "JOIN": b"*1\r\n$1\r\ne\r\n",
    "READ": b"*7\r\n$2\r\nok\r\n$1\r\n0\r\n$0\r\n\r\n$1\r\n0\r\n$1\r\n0\r\n*0\r\n*0\r\n",  # nothing in either stream
    "CLAIM": b":0\r\n",  # another server has them
    "KEEP": b"*1\r\n$4\r\nkept\r\n",
}


class Connection(socketserver.StreamRequestHandler):
    """One client of it, in the protocol of Redis (RESP2)."""

    timeout = 5.0
    server: EmptyRedis

    def handle(self) -> None:
        while head := self.rfile.readline():
            words = [self._word() for _ in range(int(head[1:]))]
            self.wfile.write(self.server.answer(words))

    def _word(self) -> str:
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:-2].decode()


class EmptyRedis(socketserver.ThreadingTCPServer):
    """It has no history, and its rooms are another server's."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.claims: list[str] = []
        """Who asked for the rooms."""
        self.kept_ms: list[str] = []
        """How long each answer that it was given may be kept."""
        self.refusals_left = 0
        """So many more times it says that it is still loading, as it does for a moment after it was started."""
        self.is_over = threading.Event()

    def answer(self, words: list[str]) -> bytes:
        if words[0] == "XREAD":
            self.is_over.wait(0.5)
            return b"*-1\r\n"
        name = NAMES.get(words[1]) or " ".join(words[:2])
        if name == "CLAIM":
            self.claims.append(words[-2])  # Before the length of the lease.
        if name == "KEEP":
            self.kept_ms.append(words[-2])  # Before how many there may be at most.
        if name == "INFO server" and self.refusals_left:
            self.refusals_left -= 1
            return b"-LOADING Redis is loading the dataset in memory\r\n"
        return ANSWERS.get(name, b"+OK\r\n")


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmptyRedis]:
    # However busy the machine is, no request is given up and none is made again.
    monkeypatch.setattr(link, "PATIENCE_S", 600.0)
    monkeypatch.setattr(rooms, "RENEW_US", 10**12)
    with EmptyRedis() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server
        server.is_over.set()
        server.shutdown()


@pytest.mark.parametrize(("workers", "asked_count"), [(1, 1), (2, 0)])
def test_a_server_of_one_process_asks_for_the_rooms_and_one_of_several_never_does(
    redis: EmptyRedis, workers: int, asked_count: int
) -> None:
    host, port = redis.server_address[:2]

    broker = make_broker(Settings(broker=f"redis://{host!s}:{port}", workers=workers))
    broker.close()

    assert redis.claims == [clock.timebase()] * asked_count


def test_answers_are_kept_in_redis_for_as_long_as_the_settings_say(redis: EmptyRedis) -> None:
    host, port = redis.server_address[:2]
    settings = Settings(broker=f"redis://{host!s}:{port}", history_cache_ttl_s=90)
    broker = make_broker(settings)

    cache = make_history_cache(settings, broker)
    assert cache is not None
    cache.keep("0:1", "{}", position=broker.position())
    without = make_history_cache(Settings(broker=settings.broker), broker)
    broker.close()

    assert redis.kept_ms == ["90000"]
    assert without is None


def test_a_redis_that_is_away_at_the_start_is_waited_for_and_reported_once(
    redis: EmptyRedis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = redis.server_address[:2]
    redis.refusals_left = 2
    monkeypatch.setattr("time.sleep", lambda _seconds: None)

    with caplog.at_level(logging.WARNING, logger="siar.broker"):
        broker = make_broker(Settings(broker=f"redis://{host!s}:{port}"))
    broker.close()

    assert redis.refusals_left == 0
    told = [each for each in caplog.messages if each.endswith("Waiting for it.")]
    assert len(told) == 1
    assert told[0].startswith(f"Redis ({host!s}:{port}) does not answer.")


@pytest.mark.parametrize(
    ("aof", "durability"),
    [
        (0, "no append-only file: a restart of Redis takes what its last snapshot does not hold"),
        (1, "append-only file, appendfsync=no"),
    ],
)
def test_how_safe_a_redis_keeps_what_it_is_given_is_said_as_it_says_it(
    redis: EmptyRedis, monkeypatch: pytest.MonkeyPatch, aof: int, durability: str
) -> None:
    monkeypatch.setitem(ANSWERS, "INFO persistence", b"$13\r\naof_enabled:%d\r\n" % aof)
    host, port = redis.server_address[:2]

    broker = make_broker(Settings(broker=f"redis://{host!s}:{port}"))
    broker.close()

    assert durability in broker.durability
