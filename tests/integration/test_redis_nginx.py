"""`deploy/nginx-many.conf` in a real nginx, before two servers on one Redis, for clients of several addresses."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from app.server.tls import keep
from tests.components import require_tool
from tests.support.followers import wait_for
from tests.support.metrics import subscribed
from tests.support.nginx import nginx
from tests.support.patience import PATIENCE_S
from tests.support.redis_server import redis_server
from tests.support.server import RunningServer, ServerSettings, running_server

pytestmark = pytest.mark.slow

ADDRESSES = tuple(f"127.0.0.{last}" for last in range(2, 26))
"""Linux has all of 127.0.0.0/8: to nginx each is another client.

So many that chance hardly gives all of them to one server: where the hash leads depends on the servers' ports, which
are others each time.
"""


@dataclass(frozen=True, slots=True)
class Front:
    """nginx and what is behind it."""

    port: int
    trust: ssl.SSLContext
    certificate: Path
    servers: tuple[RunningServer, ...]

    def ask(
        self, method: str, path: str, *, source: str, body: str | None = None, cookie: str | None = None
    ) -> tuple[int, str, str | None]:
        """One request of a client: status, text, and the cookie that it was given."""
        link = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=PATIENCE_S, context=self.trust, source_address=(source, 0)
        )
        with contextlib.closing(link):
            link.request(method, path, body, {"Cookie": cookie} if cookie else {})
            answer = link.getresponse()
            given = answer.headers.get("Set-Cookie")
            return answer.status, answer.read().decode(), given.partition(";")[0] if given else None

    def sessions(self) -> list[float]:
        """Of Socket.IO, subscribed, on each server."""
        return [subscribed(server, "socketio") for server in self.servers]


@contextlib.contextmanager
def front(tmp_path: Path, *, affinity: str = "address") -> Iterator[Front]:
    files = keep.make("self", tmp_path / "tls", ["127.0.0.1"])
    with redis_server(tmp_path / "redis") as redis:
        options: ServerSettings = {"broker": redis.url, "recorder": 0, "trusted_proxies": "127.0.0.1"}
        with (
            running_server(tmp_path, **options) as one,
            running_server(tmp_path, **options) as other,
            nginx(
                tmp_path / "nginx",
                [one.port, other.port],
                certificate=files.certificate,
                key=files.key,
                affinity=affinity,
            ) as port,
        ):
            trust = ssl.create_default_context(cafile=files.certificate)
            yield Front(port, trust, files.certificate, (one, other))


class PollingClient:
    """Socket.IO over long-polling, by hand: every request on a connection of its own, as through a proxy."""

    def __init__(self, front: Front, source: str, cookie: str | None = None) -> None:
        self.front = front
        self.source = source
        self.cookie = cookie
        self.path = "/socket.io/?EIO=4&transport=polling"
        opening = self._ask("GET")
        self.path += f"&sid={json.loads(opening[1:])['sid']}"
        assert self._ask("POST", "40") == "ok"
        assert self._ask("GET").startswith("40{")

    def next_notification(self) -> dict[str, Any]:
        """Waited for by a poll."""
        text = self._ask("GET")
        assert text.startswith("42"), text
        name, argument = json.loads(text[2:])
        assert name == "notification"
        return argument

    def _ask(self, method: str, body: str | None = None) -> str:
        status, text, given = self.front.ask(
            method, self.path, source=self.source, body=body, cookie=self.cookie
        )
        assert status == 200, text
        self.cookie = self.cookie or given
        return text


def test_polling_reaches_its_own_server_by_the_clients_address(tmp_path: Path) -> None:
    with front(tmp_path) as before:
        clients = [PollingClient(before, source) for source in ADDRESSES]
        spread = before.sessions()
        before.servers[0].publish("to all")
        titles = [client.next_notification()["title"] for client in clients]

    assert titles == ["to all"] * len(ADDRESSES)
    assert sum(spread) == len(ADDRESSES)
    assert all(spread), f"one server has all of them: {spread}"


def test_polling_reaches_its_own_server_by_a_cookie_from_one_address(tmp_path: Path) -> None:
    with front(tmp_path, affinity="cookie") as before:
        clients = [PollingClient(before, "127.0.0.1") for _ in ADDRESSES]
        spread = before.sessions()
        before.servers[1].publish("to all")
        titles = [client.next_notification()["title"] for client in clients]

    assert titles == ["to all"] * len(ADDRESSES)
    assert sum(spread) == len(ADDRESSES)
    assert all(spread), f"one server has all of them: {spread}"


@pytest.mark.parametrize("affinity", ["address", "none"])
def test_a_websocket_is_upgraded_and_needs_no_affinity(tmp_path: Path, affinity: str) -> None:
    with front(tmp_path, affinity=affinity) as before:
        url = f"wss://127.0.0.1:{before.port}/socket.io/?EIO=4&transport=websocket"
        with contextlib.ExitStack() as stack:
            channels = [
                stack.enter_context(
                    connect(url, ssl=before.trust, source_address=(source, 0), open_timeout=PATIENCE_S)
                )
                for source in ADDRESSES[:6]
            ]
            for channel in channels:
                assert str(channel.recv(timeout=PATIENCE_S)).startswith("0{")
                channel.send("40")
                assert str(channel.recv(timeout=PATIENCE_S)).startswith("40{")
            spread = before.sessions()
            before.servers[0].publish("live")
            texts = [str(channel.recv(timeout=PATIENCE_S)) for channel in channels]

    assert all(text.startswith('42["notification",') for text in texts)
    assert sum(spread) == 6
    assert all(spread) or affinity == "address"


def test_a_stream_comes_at_once_over_http2_uncompressed(tmp_path: Path) -> None:
    curl = str(require_tool("curl", "curl"))
    with front(tmp_path) as before:
        command = [curl, "-siN", "--http2", "--compressed", "--cacert", str(before.certificate)]
        command.append(f"https://127.0.0.1:{before.port}/events")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            head = [process.stdout.readline().rstrip()]
            while head[-1]:
                head.append(process.stdout.readline().rstrip())
            assert process.stdout.readline().startswith("retry:")
            before.servers[1].publish("at once")
            lines: list[str] = []
            while not lines or not lines[-1].startswith("data:"):
                lines.append(process.stdout.readline())
            process.terminate()

    assert head[0].startswith("HTTP/2 200")
    assert not any(line.lower().startswith("content-encoding") for line in head)
    assert json.loads(lines[-1][5:])["title"] == "at once"


def test_clients_go_on_at_another_server_when_theirs_is_gone(tmp_path: Path) -> None:
    with front(tmp_path) as before:
        gone, stays = before.servers
        left_at = gone.publish("seen")["id"]
        wait_for(lambda: stays.request("GET", "/api/notifications")[1]["position"] == left_at, stays.log)
        os.killpg(gone.process.pid, signal.SIGKILL)
        gone.process.wait()
        stays.publish("missed")

        def resumed(source: str) -> bool:
            link = http.client.HTTPSConnection(
                "127.0.0.1", before.port, timeout=PATIENCE_S, context=before.trust, source_address=(source, 0)
            )
            with contextlib.closing(link), contextlib.suppress(OSError, http.client.HTTPException):
                link.request("GET", "/events", headers={"Last-Event-ID": left_at})
                answer = link.getresponse()
                received = b""
                while answer.status == 200 and b'"title":"missed"' not in received:
                    chunk = answer.read1(65_536)
                    if not chunk:
                        return False
                    received += chunk
                return answer.status == 200
            return False

        for source in ADDRESSES:
            wait_for(lambda source=source: resumed(source), stays.log)  # type: ignore[misc]
