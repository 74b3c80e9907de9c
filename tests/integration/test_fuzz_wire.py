"""Random and half-right bytes on everything that is open to strangers, over real sockets: nothing of it harms anybody.

On both fan-outs, and at the port where clocks are asked.

Whatever they send, the server answers with a status below 500 or ends their connection, a client that listens beside
them hears what is published, no place stays taken, and the log has no traceback.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import clock_process
from tests.support.fanouts import FANOUTS
from tests.support.fuzz import effort, json_values
from tests.support.metrics import metric
from tests.support.server import RunningServer, running_server
from tests.support.streams import (
    SocketIoReader,
    SseReader,
    say_no_more,
    socketio,
    sse,
    websocket_by_hand,
)

MASK = b"mask"

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: c2l4dGVlbiBieXRlcyEhIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)

ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A server, and two who listen beside the strangers."""

    server: RunningServer
    stream: SseReader
    channel: SocketIoReader

    def is_well(self) -> None:
        """Both hear what is published now."""
        sent = self.server.publish("still here", "")
        while self.stream.next_notification()["id"] != sent["id"]:
            pass
        while self.channel.next_notification()["id"] != sent["id"]:
            pass


@pytest.fixture(scope="module", params=FANOUTS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("fuzz")
    with running_server(folder, fanout=request.param, recorder=0, heartbeat_s=1, log_level="info") as server:
        with sse(server.port) as stream, socketio(server.port) as channel:
            yield Stage(server, stream, channel)
            wait_until_left(server, 2)
        wait_until_left(server, 0)
        assert "Traceback" not in server.log(), server.log()


def wait_until_left(server: RunningServer, count: int) -> None:
    """Until so many have a place, which is everyone's but the strangers'."""
    deadline_s = time.monotonic() + ANSWER_S
    while (found := metric(server, "siar_admitted_connections")) > count:
        assert time.monotonic() < deadline_s, f"{found} places are taken"
        time.sleep(0.05)


def exchange(port: int, data: bytes) -> bytes:
    """What a stranger gets who sends this and then nothing more. An unending answer is left after its head."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(data)
            say_no_more(sock)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while b"\r\n\r\n" not in answer and (piece := sock.recv(65_536)):
                answer += piece
    return answer


def assert_no_failure(answer: bytes) -> None:
    """A status that puts the blame where it belongs, or silence."""
    if answer:
        assert answer.startswith(b"HTTP/1."), answer[:100]
        assert answer[9:10] in (b"1", b"2", b"3", b"4") or answer[9:12] == b"501", answer[:300]


header_bytes = st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b""))
methods = st.sampled_from([b"GET", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"\x00", b"get"])
paths = st.sampled_from([b"/events", b"/", b"/socket.io/?EIO=4", b"*", b"//", b"/%00", b"/events?topic=%ff"])
versions = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"", b"HTTP/2.0"])
header_names = st.sampled_from(
    b"Host,Content-Length,Transfer-Encoding,Connection,Upgrade,Last-Event-ID,Cookie,Expect,X-Forwarded-For,Origin,"
    b"Authorization,Range, x,".split(b",")
)
header_values = st.sampled_from(
    [b"localhost", b"-1", b"9" * 30, b"chunked", b"upgrade", b"websocket", b"100-continue"]
)


@st.composite
def half_right_heads(draw: st.DrawFn) -> bytes:
    """What looks like a request for a while."""
    path = draw(paths | header_bytes.map(lambda raw: b"/" + raw))
    headers = draw(st.lists(st.tuples(header_names, header_bytes | header_values), max_size=6))
    lines = (name + b": " + value for name, value in headers)
    return b"\r\n".join((b" ".join((draw(methods), path, draw(versions))), *lines, b"", b""))


@effort(25)
@given(data=st.binary(max_size=200) | half_right_heads())
def test_no_bytes_at_the_door_harm_anybody(stage: Stage, data: bytes) -> None:
    assert_no_failure(exchange(stage.server.port, data))
    stage.is_well()


tokens = st.text(max_size=40) | st.sampled_from(
    ["e.1", "0." + "9" * 40, "-1.-1", "%0d%0aX: y", "..", "é.1", "a.1\x00"]
)


@effort(25)
@given(
    query=st.lists(st.tuples(st.sampled_from(["topic", "last_event_id", "fanout", "x"]), tokens), max_size=5),
    id=tokens,
)
def test_no_query_or_header_of_an_event_stream_harms_anybody(
    stage: Stage, query: list[tuple[str, str]], id: str
) -> None:
    header = id.encode("utf-8", "replace").replace(b"\r", b"").replace(b"\n", b"")
    target = f"/events?{urlencode(query, errors='replace')}".encode()
    request = b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: " + header + b"\r\n\r\n"

    answer = exchange(stage.server.port, request)

    assert_no_failure(answer)
    assert answer, "an answer was due"
    stage.is_well()


def masked(first: int, payload: bytes, length: bytes | None = None) -> bytes:
    size = len(payload)
    plain = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + size.to_bytes(2, "big")
    body = bytes(each ^ MASK[at % 4] for at, each in enumerate(payload))
    return bytes([first]) + (plain if length is None else length) + MASK + body


frames = st.builds(
    masked,
    st.sampled_from([0x81, 0x82, 0x01, 0x00, 0x80, 0x88, 0x89, 0x8A]) | st.integers(0, 255),
    st.binary(max_size=300) | st.sampled_from([b"40", b"41", b"1", b"2", b"3", b'42["x"]', b"\x03\xe8bye"]),
    st.none()
    | st.none()
    | st.none()
    | st.sampled_from([b"\xff" + b"\xff" * 8, b"\xfe\x00\x05", b"\x05", b"\x80"]),
)


@effort(25)
@given(sent=st.lists(frames | st.binary(max_size=40), min_size=1, max_size=8))
def test_no_frames_on_a_websocket_harm_anybody(stage: Stage, sent: list[bytes]) -> None:
    talk(stage, sent)


json_texts = json_values.map(json.dumps)
packets = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["4", "4", "4", "4", "0", "1", "2", "3", "5", "6", "9", "b"]),
    st.sampled_from(["0", "1", "2", "2", "2", "3", "4", "5", "51-", "5999-", "6", "7", ""]),
    st.sampled_from(["", "", "", "/,", "/admin,", "/" + "x" * 100 + ","]),
    st.sampled_from(["", "", "7", "9" * 30, "-1"]),
    st.one_of(
        json_texts,
        json_texts.map(lambda text: f'["notification",{text}]'),
        json_texts.map(lambda text: f'["connect",{text},{text}]'),
        json_texts.map(
            lambda text: f'{{"topics":{text},"last_event_id":{text},"recover":{text},"pid":{text}}}'
        ),
        st.text(max_size=50),
    ),
)


def text_frame(packet: str) -> bytes:
    return masked(0x81, packet.encode("utf-8", "replace")[:60_000])


@effort(25)
@given(sent=st.lists(packets, min_size=1, max_size=8), joins=st.booleans())
def test_no_packets_on_a_channel_harm_anybody(stage: Stage, sent: list[str], joins: bool) -> None:
    talk(stage, [text_frame("40")] * joins + [text_frame(each) for each in sent])


def talk(stage: Stage, sent: list[bytes]) -> None:
    """Say all of it on a WebSocket, and read to the end."""
    with socket.create_connection(("127.0.0.1", stage.server.port), timeout=ANSWER_S) as sock:
        websocket_by_hand(sock)
        received = b""
        with contextlib.suppress(ConnectionError):
            for each in sent:
                sock.sendall(each)
            say_no_more(sock)
            while piece := sock.recv(65_536):
                received += piece
    assert b"HTTP/1.1" not in received, "an HTTP answer was written into an open WebSocket"
    stage.is_well()


@effort(25)
@given(
    body=st.binary(max_size=300)
    | st.lists(packets, min_size=1, max_size=6)
    .map("\x1e".join)
    .map(lambda text: text.encode("utf-8", "replace"))
)
def test_no_payload_of_polling_harms_anybody(stage: Stage, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stage.server.port, timeout=ANSWER_S)
    with contextlib.closing(connection):
        connection.request("GET", "/socket.io/?EIO=4&transport=polling")
        opened = connection.getresponse()
        assert opened.status == 200
        sid = json.loads(opened.read()[1:])["sid"]
        connection.request("POST", f"/socket.io/?EIO=4&transport=polling&sid={sid}", body=body)
        answer = connection.getresponse()
        said = answer.read()

        assert answer.status in (200, 400), said
        connection.request("POST", f"/socket.io/?EIO=4&transport=polling&sid={sid}", body=b"1")
        connection.getresponse().read()
    stage.is_well()


BATCH: dict[str, Any] = {
    "batch_id": "batch-0001",
    "clock_channel": "websocket",
    "timebase": "00",
    "samples": [
        {
            "id": "e.1",
            "transport": "sse",
            "due_us": 1,
            "sent_us": 2,
            "received_client_us": 3.5,
            "state": "ok",
            "outcome": "on_time",
            "visible": True,
        }
    ],
}


@st.composite
def half_right_batches(draw: st.DrawFn) -> dict[str, object]:
    """A good batch with a few members replaced, taken out, or put in."""
    batch: dict[str, object] = {**BATCH, "batch_id": f"b-{os.urandom(8).hex()}"}
    sample = dict(BATCH["samples"][0])
    for target in draw(st.lists(st.sampled_from([batch, sample]), min_size=1, max_size=3)):
        name = draw(st.sampled_from([*target, "conduct", "trial", "run", "lifecycle", "extra"]))
        if draw(st.booleans()):
            target[name] = draw(json_values)
        else:
            target.pop(name, None)
    batch.setdefault("samples", [sample] * draw(st.integers(0, 3)))
    return batch


@effort(25)
@given(batch=half_right_batches())
def test_no_batch_of_deliveries_harms_anybody(stage: Stage, batch: dict[str, object]) -> None:
    server = stage.server
    _, device = server.request("POST", "/api/devices", {})
    batch.setdefault("device", device["device"])

    status, answer = server.request("POST", "/api/deliveries", batch, token=device["token"])

    assert status < 500, answer
    assert status == 200 or answer["detail"]
    spool = server.runs_dir / server.run / "spool.jsonl"
    if spool.exists():
        for line in spool.read_bytes().splitlines():
            json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} was stored"))


@pytest.fixture(scope="module")
def clock_channel() -> Iterator[clock_process.ClockProcess]:
    """A clock process of its own, which must have nothing to say at its end."""
    channel = clock_process.start()
    yield channel
    errors = channel.end()
    assert not errors, errors.decode()


@effort(60)
@given(
    data=st.binary(max_size=200) | half_right_heads(),
    sent=st.none() | st.lists(frames | packets.map(text_frame), max_size=8),
)
def test_no_bytes_at_the_clock_harm_anybody(
    clock_channel: clock_process.ClockProcess, data: bytes, sent: list[bytes] | None
) -> None:
    """Before the handshake, or frames behind it."""
    with (
        clock_channel.connect() as other,
        socket.create_connection(("127.0.0.1", clock_channel.port), timeout=ANSWER_S) as sock,
    ):
        with contextlib.suppress(ConnectionError):
            sock.sendall(data if sent is None else HANDSHAKE + b"".join(sent))
            say_no_more(sock)
            while sock.recv(65_536):
                pass

        _, answer = clock_process.ask(other, 7)

    assert answer["probe"] == 7
