"""`rediss://` against a real Redis that speaks TLS only: who answers is checked, and nobody reads user and password."""

from __future__ import annotations

import contextlib
import secrets
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.broker_url import parse_broker_url
from app.core.errors import BrokerAway, Unfit
from app.server.broker.make import check_broker
from app.server.broker.redis.broker import RedisBroker
from app.server.broker.redis.link import RedisLink
from app.server.tls import keep
from app.settings import Settings
from tests.components import without
from tests.support.brokers import publish
from tests.support.followers import following, wait_for
from tests.support.redis_server import RedisServer
from tests.support.server import running_server

USER = "somebody"
PASSWORD = "hunter2"


class EncryptedRedis(RedisServer):
    """A Redis whose certificate is signed by a test's own authority, which no system trusts."""

    def __init__(self, folder: Path) -> None:
        self.files = keep.make(keep.CA, folder / "tls", ["127.0.0.1"])
        super().__init__(
            folder,
            *("--tls-cert-file", str(self.files.certificate), "--tls-key-file", str(self.files.key)),
            *("--tls-auth-clients", "no"),
            # Not "default off": Redis 7.0 then omits from its append-only file what scripts and transactions wrote when
            # it starts, because that is done in the default user's name (redis/redis#14541).
            *("--requirepass", secrets.token_hex(16)),
            *("--user", USER, "on", f">{PASSWORD}", "~*", "&*", "+@all"),
        )

    @property
    def url(self) -> str:
        """The broker URL."""
        return f"rediss://{USER}:{PASSWORD}@{self.host}:{self.port}"

    @property
    def ca_file(self) -> str:
        """The authority's certificate."""
        return str(self.files.authority)

    def start(self) -> None:
        """Start it; skips the test if Redis was built without TLS."""
        try:
            super().start()
        except AssertionError:
            if "tls-port" in self.log():
                without("needs a redis-server that was built with TLS, as Debian's is")
            raise

    def command_line(self) -> list[str]:
        """Return the command that starts it, without a plain port."""
        plain = super().command_line()
        place = plain.index("--port")
        return [*plain[:place], "--port", "0", "--tls-port", str(self.port), *plain[place + 2 :]]

    def _answers(self) -> bool:
        trust = ssl.create_default_context(cafile=self.ca_file)
        with (
            contextlib.suppress(OSError),
            socket.create_connection((self.host, self.port), timeout=5) as plain,
            trust.wrap_socket(plain, server_hostname=self.host) as encrypted,
        ):
            encrypted.sendall(b"PING\r\n")
            return encrypted.recv(99).startswith((b"+PONG", b"-NOAUTH"))
        return False


@contextlib.contextmanager
def encrypted_redis(folder: Path) -> Iterator[EncryptedRedis]:
    """Run an encrypted Redis for the block."""
    server = EncryptedRedis(folder)
    try:
        yield server
    finally:
        server.kill()


def link_to(url: str, ca_file: str) -> RedisLink:
    address = parse_broker_url(url).redis
    assert address is not None
    return RedisLink(address, ca_file=ca_file)


def broker_on(redis: EncryptedRedis, prefix: str) -> RedisBroker:
    link = link_to(f"{redis.url}?prefix={prefix}", redis.ca_file)
    return RedisBroker(link, count_max=100, bytes_max=10**9, age_max_us=10**12)


def test_two_servers_share_an_order_over_tls(tmp_path: Path) -> None:
    prefix = secrets.token_hex(4)
    with encrypted_redis(tmp_path) as redis:
        one, other = broker_on(redis, prefix), broker_on(redis, prefix)
        try:
            published = [publish(each).notification.offset for each in (one, other, one)]
            wait_for(lambda: other.position().offset == 3, redis.log)
        finally:
            one.close()
            other.close()

    assert published == [1, 2, 3]


def test_a_redis_that_nobody_vouches_for_gets_no_password(tmp_path: Path) -> None:
    stranger = keep.make(keep.CA, tmp_path / "stranger", ["127.0.0.1"]).authority

    with encrypted_redis(tmp_path / "redis") as redis:
        for ca_file in ("", str(stranger)):
            link = link_to(redis.url, ca_file)
            with pytest.raises(BrokerAway) as refused:
                link.check()
            link.hang_up()

            assert "certificate verify failed" in str(refused.value.__cause__)
        # Redis counts whom it knew: nobody came as far as saying who they are.
        link = link_to(redis.url, redis.ca_file)
        link.check()
        link.hang_up()


@pytest.mark.slow
def test_a_server_does_not_start_on_a_redis_that_nobody_vouches_for_and_says_so(tmp_path: Path) -> None:
    with encrypted_redis(tmp_path) as redis, pytest.raises(Unfit) as refused:
        check_broker(Settings(broker=redis.url))

    assert "certificate verify failed" in str(refused.value)
    assert USER not in str(refused.value)
    assert PASSWORD not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("green_threads", ["eventlet", "gevent"])
def test_a_server_publishes_and_delivers_over_an_encrypted_broker(tmp_path: Path, green_threads: str) -> None:
    with (
        encrypted_redis(tmp_path / "redis") as redis,
        running_server(
            tmp_path,
            broker=redis.url,
            broker_ca=redis.ca_file,
            green_threads=green_threads,
            recorder=0,
            log_level="info",
        ) as server,
        following(server.port, ("sse", "socketio")) as followers,
    ):
        for title in ("a", "b"):
            server.publish(title)
        wait_for(lambda: all(len(each.titles) == 2 for each in followers), server.log)
        redis.kill()
        wait_for(lambda: all(each.states == ["away"] for each in followers), server.log)
        redis.start()
        wait_for(lambda: all(each.states == ["away", "back"] for each in followers), server.log)
        server.publish("c")
        wait_for(lambda: all(len(each.titles) == 3 for each in followers), server.log)
        _status, version = server.request("GET", "/version")
        said = server.log()

    assert [each.titles for each in followers] == [["a", "b", "c"]] * 2
    assert "TLS" in str(version)
    for secret in (USER, PASSWORD):
        assert secret not in said
        assert secret not in str(version)
