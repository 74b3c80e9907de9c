"""The way to Redis where something else answers at its address."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator

import pytest

from app.core.broker_url import RedisAddress
from app.core.errors import BrokerAway, Unfit
from app.server.broker.make import check_broker
from app.server.broker.redis import link as redis_link
from app.server.broker.redis.link import RedisLink
from app.settings import Settings


class WebServer(socketserver.StreamRequestHandler):
    """Says what a web server says to a Redis client."""

    timeout = 5.0

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """Where it listens. However late it answers on a busy machine, it is waited for."""
    monkeypatch.setattr(redis_link, "PATIENCE_S", 600.0)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), WebServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        host, port = server.server_address[:2]
        yield str(host), port
        server.shutdown()


def test_what_does_not_speak_its_protocol_is_no_redis(address: tuple[str, int]) -> None:
    link = RedisLink(RedisAddress((address,)))

    with pytest.raises(BrokerAway, match="does not answer"):
        link.check()
    link.hang_up()


def test_a_start_with_the_address_of_something_else_ends_in_words(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    host, port = address

    with pytest.raises(Unfit, match=r"(?i)does not let us in: protocol error"):
        check_broker(Settings(broker=f"redis://{host}:{port}"))
