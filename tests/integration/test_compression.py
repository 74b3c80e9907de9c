"""Compressed delivery: the same events, once for everyone, to whoever takes it and to nobody else."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app.core.protocol.deflate import NO_CONTEXT_TAKEOVER
from tests.components import require_tool
from tests.support.fanouts import FANOUTS
from tests.support.metrics import metric
from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import OPENING, new_phone, operator, put_trial
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import SseReader, socketio, sse

LONG = "Go to the yard. " * 300


class Gzipped(SseReader):
    """A stream that was asked for with gzip."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        super().__init__(response)
        self.received_bytes = 0
        self._unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def read_some(self) -> bytes:
        """Whatever comes next, unpacked."""
        chunk = self.response.read1(65_536)
        assert chunk, "the server ended the stream"
        self.received_bytes += len(chunk)
        text = self._unpack.decompress(chunk)
        self._waiting.extend(self._decoder.feed(text))
        return text


@contextlib.contextmanager
def gzipped(port: int, query: str = "") -> Iterator[Gzipped]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", f"/events{query}", headers={"Accept-Encoding": "gzip, deflate, br"})
        with connection.getresponse() as response:
            assert response.getheader("Content-Encoding") == "gzip"
            stream = Gzipped(response)
            while not stream.last_event_id:
                stream.read_some()
            yield stream


def curl_until(awaited: bytes, *arguments: str) -> bytes:
    """What curl shows of a stream that has no end, up to this; curl is ended then, or gives up by itself."""
    command = [str(require_tool("curl", "curl")), "-sS", "-N", "--max-time", "60", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        shown = b""
        while awaited not in shown and (piece := process.stdout.read(65_536)):
            shown += piece
        process.terminate()
    return shown


def closing_code(websocket: ClientConnection) -> int | None:
    """Reads to the end."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            websocket.recv(timeout=PATIENCE_S)
    return websocket.close_code


def extensions_of(websocket: ClientConnection) -> str:
    assert websocket.response is not None
    return str(websocket.response.headers.get("Sec-WebSocket-Extensions", ""))


@pytest.mark.parametrize("fanout", FANOUTS)
def test_compressed_and_plain_clients_get_the_same(fanout: str, tmp_path: Path) -> None:
    with (
        running_server(tmp_path, recorder=0, compression=1, fanout=fanout) as server,
        gzipped(server.port) as stream,
        sse(server.port) as plain_stream,
        socketio(server.port) as channel,
        socketio(server.port, {"recover": True}) as recovering,
        connect(
            f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket", compression=None
        ) as plain,
    ):
        plain.recv(timeout=PATIENCE_S)
        plain.send("40")
        plain.recv(timeout=PATIENCE_S)
        assert "permessage-deflate" in extensions_of(channel.websocket)
        assert extensions_of(plain) == ""
        before = stream.received_bytes

        server.publish("Drill", LONG)
        found = stream.next_notification()

        assert found["body"] == LONG.strip() or found["body"] == LONG
        assert stream.received_bytes - before < 600, "the event is longer than 4800 bytes"
        assert found == plain_stream.next_notification() == channel.next_notification()
        assert recovering.next_notification_with_id() == (found, found["id"])
        assert json.loads(str(plain.recv(timeout=PATIENCE_S))[2:])[1] == found
        for transport, count in (("sse", 2), ("socketio", 3)):
            assert (
                metric(server, f'siar_connection_paths{{path="{fanout}",transport="{transport}"}}') == count
            )
    assert "Traceback" not in server.log(), server.log()


@pytest.mark.slow
@pytest.mark.parametrize("fanout", FANOUTS)
def test_what_was_missed_heartbeats_and_the_end_are_read_in_a_compressed_stream_too(
    fanout: str, tmp_path: Path
) -> None:
    with running_server(tmp_path, recorder=0, compression=1, fanout=fanout, heartbeat_s=0.3) as server:
        first = server.publish("first")["id"]
        missed = [server.publish(f"missed {number}", LONG)["id"] for number in range(40)]
        with (
            gzipped(server.port, f"?last_event_id={first}") as stream,
            socketio(server.port, {"last_event_id": first}) as channel,
        ):
            assert [stream.next_notification()["id"] for _ in missed] == missed
            assert [channel.next_notification()["id"] for _ in missed] == missed
            heard = b""
            while heard.count(b": heartbeat") < 2:
                heard += stream.read_some()
            assert f"id: {missed[-1]}".encode() in heard
            server.process.terminate()
            ending = b""
            with contextlib.suppress(AssertionError, http.client.IncompleteRead):
                while b"retry: " not in ending:
                    ending += stream.read_some()
            assert b"retry: " in ending


@pytest.mark.slow
@pytest.mark.parametrize("fanout", ["direct", "stock"])
@pytest.mark.parametrize("backend", ["eventlet", "gevent"])
def test_a_client_may_compress_what_it_sends_and_a_bomb_ends_only_its_own_connection(
    backend: str, fanout: str, tmp_path: Path
) -> None:
    settings: ServerSettings = {
        "compression": 1,
        "green_threads": backend,
        "fanout": fanout,
        "packet_bytes_max": 20_000,
        "ping_interval_s": 600,  # So that it is the flood that ends a connection, and no missing pong.
        "recorder": 0,
    }
    with running_server(tmp_path, **settings) as server, socketio(server.port) as good:
        with socketio(server.port) as bad:
            bad.websocket.send("42" + json.dumps(["noise", "a" * 10_000]))
            bad.websocket.send("42" + json.dumps(["noise", "a" * 10_000_000]))
            assert closing_code(bad.websocket) == 1009
        good.websocket.send("42" + json.dumps(["noise", "a" * 10_000]))
        server.publish("still here")

        assert good.next_notification()["title"] == "still here"
        answer = good.websocket.response
        assert answer is not None
        assert answer.headers["Sec-WebSocket-Extensions"] == NO_CONTEXT_TAKEOVER
        many = "42" + json.dumps(["noise", "a" * 15_000])
        for _ in range(400):  # 6 MB that come as 20 kB; at so many a second plain ones would pass for long.
            with contextlib.suppress(ConnectionClosed):
                good.websocket.send(many)
        assert closing_code(good.websocket) in (1000, 1005, 1006, 1008)
    assert "Traceback" not in server.log(), server.log()


def test_a_stranger_who_asks_for_it_is_not_compressed_for(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server, socketio(server.port) as channel:
        assert extensions_of(channel.websocket) == ""
        answer = curl_until(b"retry: ", "-i", "-H", "Accept-Encoding: gzip", f"{server.url}/events")
        assert b"content-encoding" not in answer.lower()
        assert b"retry: " in answer


def test_curl_unpacks_it(tmp_path: Path) -> None:
    """An independent client, which knows nothing of pieces."""
    with running_server(tmp_path, recorder=0, compression=1) as server:
        first = server.publish("Drill", LONG)["id"]
        second = server.publish("Drill again", LONG)["id"]
        awaited = f"id: {second}\nevent: notification\n".encode()
        url = f"{server.url}/events?last_event_id={first}"
        assert awaited in curl_until(awaited, "--compressed", url)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("fanout", FANOUTS)
def test_a_trial_compresses_for_those_who_take_part_and_the_source_knows(
    asked: bool, fanout: str, tmp_path: Path
) -> None:
    # The arm wins for those who take part, whatever the server does for others.
    with running_server(tmp_path, recorder=0, fanout=fanout, compression=int(not asked)) as server:
        operator(server, "POST", "/api/room", OPENING, expected=201)
        phone, other = new_phone(server), new_phone(server)
        phone.join(name="Siti")
        put_trial(server, participants=[phone.device], factors={"compression": asked})
        of_phone, of_other = (
            {"Cookie": f"siar_device={each.device}.{each.token}"} for each in (phone, other)
        )

        with (
            socketio(server.port, headers=of_other) as bystander,
            socketio(server.port, {"topics": ["trial.0"]}, headers=of_phone) as channel,
        ):
            assert (extensions_of(channel.websocket) != "") is asked
            assert (extensions_of(bystander.websocket) == "") is asked
        with (
            socketio(server.port, {"topics": ["trial.0"]}, headers=of_phone),
            socketio(server.port) as _bystander,
            socketio(server.port, {"topics": ["trial.9"]}) as _left_over,
        ):
            assert codings_of(server, "socketio", index=0) == ["deflated" if asked else "plain"]
        with (
            sse(server.port, "?topic=trial.1", of_phone),
            socketio(server.port, headers=of_other),
        ):
            assert codings_of(server, "sse", index=1) == ["plain"], "this client takes no gzip"
        with asking_for_gzip(server.port, "?topic=trial.2", of_phone), sse(server.port):
            assert codings_of(server, "sse", index=2) == ["deflated" if asked else "plain"]


@contextlib.contextmanager
def asking_for_gzip(port: int, query: str, headers: dict[str, str]) -> Iterator[None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", f"/events{query}", headers=headers | {"Accept-Encoding": "gzip"})
        with connection.getresponse() as response:
            response.read1(65_536)
            yield


def codings_of(server: RunningServer, transport: str, *, index: int) -> list[str]:
    """What a short trial's source saw of the connections that are open."""
    order = {
        "run": "run-1",
        "trial": index,
        "block": 0,
        "transport": transport,
        "notifications": 1,
        "warmup_notifications": 0,
        "rate_hz": 10.0,
        "payload_bytes": 400,
        "start_after_ms": 100,
        "drain_ms": 100,
    }
    operator(server, "POST", "/api/trials", order, expected=201)
    deadline_s = time.monotonic() + PATIENCE_S
    while (record := operator(server, "GET", f"/api/trials/run-1/{index}"))["state"] == "running":
        assert time.monotonic() < deadline_s, record
        time.sleep(0.05)
    operator(server, "DELETE", f"/api/trials/run-1/{index}")
    return list(record["codings"])
