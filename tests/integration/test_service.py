"""The service over real sockets: the same bytes on both transports, resume, topics, heartbeats."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.components import require_tool
from tests.support.interop import interop_client
from tests.support.metrics import slow_cuts, subscribed
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.streams import (
    read_until,
    socketio,
    sse,
    websocket_by_hand,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("service")
    with running_server(folder, heartbeat_s=0.5, history_count=200, recorder=0, log_level="info") as running:
        yield running
        assert "Traceback" not in running.log()


def wait_until_gone(server: RunningServer, *, others: int) -> None:
    """Until the server has noticed that the streams of earlier tests were left."""
    deadline_s = time.monotonic() + PATIENCE_S
    while subscribed(server, "sse") != others:
        assert time.monotonic() < deadline_s, "streams that were left are not noticed"
        time.sleep(0.05)


def offset_of(position: str) -> int:
    return int(position.rpartition(".")[2])


def test_curl_and_the_official_client_get_byte_identical_json(server: RunningServer) -> None:
    curl = require_tool("curl", "curl")
    listening = [str(curl), "-sN", f"{server.url}/events"]
    with (
        interop_client("javascript", server.url, transports=["websocket"]) as client,
        subprocess.Popen(listening, stdout=subprocess.PIPE) as stream,
    ):
        assert client.wait("connect")["transport"] == "websocket"
        assert stream.stdout is not None
        assert stream.stdout.readline().startswith(b"retry: ")

        server.publish(
            "Grüße, dunia \u2028 <b>", "line 1\nline 2", data={"n": [1, 2.5, None], "é": "\U0001f44b"}
        )

        data_line = b""
        while not data_line.startswith(b"data: "):
            data_line = stream.stdout.readline()
        packet = client.wait("packet")["data"]
        stream.terminate()
    over_sse = data_line.removeprefix(b"data: ").rstrip(b"\n").decode()
    assert packet == f'2["notification",{over_sse}]'
    assert list(json.loads(over_sse)) == [
        "id",
        "offset",
        "topic",
        "due_us",
        "sent_us",
        "title",
        "body",
        "data",
    ]


def test_both_transports_and_history_show_the_same_object(server: RunningServer) -> None:
    topics = {"topics": ["both"]}
    with sse(server.port, "?topic=both") as stream, socketio(server.port, topics) as channel:
        wait_until_gone(server, others=1)
        answer = server.publish("one", "for all", topic="both")

        assert answer["recipients"] == {"sse": 1, "socketio": 1}
        over_sse = stream.next_notification()
        assert channel.next_notification() == over_sse
        assert answer["id"] == over_sse["id"]
        assert answer["sent_us"] == over_sse["sent_us"] >= over_sse["due_us"]
    _status, listed = server.request("GET", f"/api/notifications?after={answer['offset'] - 1}")
    assert listed["notifications"] == [over_sse]


def test_the_official_client_by_polling_gets_the_same_json(server: RunningServer) -> None:
    with interop_client("javascript", server.url, transports=["polling"]) as client:
        assert client.wait("connect")["transport"] == "polling"
        answer = server.publish("polled", "too")

        assert client.wait("event")["args"][0]["id"] == answer["id"]


def test_the_official_client_upgrades_from_polling_when_it_wants_to(server: RunningServer) -> None:
    with interop_client("javascript", server.url) as client:
        client.wait("connect")
        for number in range(5):
            server.publish(f"while upgrading {number}", "")

        titles = [client.wait("event")["args"][0]["title"] for _ in range(5)]

    assert titles == [f"while upgrading {number}" for number in range(5)]


def test_sse_resumes_by_last_event_id_without_loss_or_duplicate(server: RunningServer) -> None:
    with sse(server.port) as stream:
        server.publish("before", "")
        stream.next_event()
        left_at = stream.last_event_id
    for number in range(10):
        server.publish(f"missed {number}", "")

    with sse(server.port, headers={"Last-Event-ID": left_at}) as stream:
        server.publish("after", "")
        titles = [stream.next_notification()["title"] for _ in range(11)]

    assert titles == [f"missed {number}" for number in range(10)] + ["after"]


def test_sse_resumes_even_when_it_broke_off_before_the_first_event(server: RunningServer) -> None:
    with sse(server.port) as stream:
        left_at = stream.last_event_id
    server.publish("the first", "")

    with sse(server.port, f"?last_event_id={left_at}") as stream:
        assert stream.next_notification()["title"] == "the first"


def test_last_event_id_wins_over_the_query(server: RunningServer) -> None:
    before = server.publish("older", "")["id"]
    latest = server.publish("newer", "")["id"]

    with sse(server.port, f"?last_event_id={before}", {"Last-Event-ID": latest}) as stream:
        server.publish("newest", "")
        assert stream.next_notification()["title"] == "newest"


def test_socketio_resumes_by_last_event_id_without_loss_or_duplicate(server: RunningServer) -> None:
    with socketio(server.port) as channel:
        server.publish("before", "")
        left_at = channel.next_notification()["id"]
    for number in range(10):
        server.publish(f"missed {number}", "")

    with socketio(server.port, {"last_event_id": left_at}) as channel:
        server.publish("after", "")
        titles = [channel.next_notification()["title"] for _ in range(11)]

    assert titles == [f"missed {number}" for number in range(10)] + ["after"]


def test_the_connect_packet_carries_the_position_and_what_follows_is_newer(server: RunningServer) -> None:
    latest = server.publish("old", "")["id"]

    with socketio(server.port) as channel:
        server.publish("new", "")
        assert channel.connect["position"] == latest
        assert channel.next_notification()["title"] == "new"


def test_the_official_client_resumes_through_auth(server: RunningServer) -> None:
    with interop_client("javascript", server.url, transports=["websocket"]) as client:
        client.wait("connect")
        server.publish("seen", "")
        left_at = client.wait("event")["args"][0]["id"]
    for number in range(5):
        server.publish(f"unseen {number}", "")

    options = {"transports": ["websocket"], "auth": {"last_event_id": left_at}}
    with interop_client("javascript", server.url, **options) as client:
        titles = [client.wait("event")["args"][0]["title"] for _ in range(5)]

    assert titles == [f"unseen {number}" for number in range(5)]


def test_clients_that_come_and_go_while_publishing_miss_nothing(server: RunningServer) -> None:
    """Both transports break off and resume over and over while 150 notifications are published."""
    with sse(server.port) as stream:
        start = stream.last_event_id
    publisher = threading.Thread(target=lambda: [server.publish(f"n{i}", "") for i in range(150)])
    publisher.start()

    over_sse: list[int] = []
    left_at = start
    while len(over_sse) < 150:
        with sse(server.port, headers={"Last-Event-ID": left_at}) as stream:
            for _ in range(min(7, 150 - len(over_sse))):
                notification = stream.next_notification()
                over_sse.append(notification["offset"])
                left_at = notification["id"]  # Not the stream's: it may have read further than we have taken.
    over_socketio: list[int] = []
    left_at = start
    while len(over_socketio) < 150:
        with socketio(server.port, {"last_event_id": left_at}) as channel:
            for _ in range(min(20, 150 - len(over_socketio))):
                notification = channel.next_notification()
                over_socketio.append(notification["offset"])
                left_at = notification["id"]
    publisher.join()

    first = offset_of(start) + 1
    assert over_sse == list(range(first, first + 150))
    assert over_socketio == list(range(first, first + 150))


def test_history_that_no_longer_reaches_back_is_said_on_both_transports(server: RunningServer) -> None:
    left_at = server.publish("very old", "")["id"]
    for _ in range(210):
        server.publish("filler", "")

    with sse(server.port, f"?last_event_id={left_at}") as stream:
        event = stream.next_event()
        following = stream.next_notification()
    with socketio(server.port, {"last_event_id": left_at}) as channel:
        name, gap = channel.next_event()

    assert event.type == name == "gap"
    assert json.loads(event.data) == gap
    assert gap["reason"] == "expired"
    assert gap["from"] == offset_of(left_at) + 1
    assert following["offset"] == gap["to"] + 1


@pytest.mark.parametrize("position", ["0badc0de.5", "garbage", "a.b.c", "9" * 100, "%00"])
def test_a_foreign_position_is_answered_with_a_gap_and_never_with_a_4xx(
    server: RunningServer, position: str
) -> None:
    server.publish("kept", "")
    with sse(server.port, f"?last_event_id={position}") as stream:
        assert stream.next_event().type == "gap"
    with socketio(server.port, {"last_event_id": position}) as channel:
        assert channel.next_event()[0] == "gap"


def test_topics_filter_on_both_transports(server: RunningServer) -> None:
    with (
        sse(server.port, "?topic=news&topic=sport") as stream,
        socketio(server.port, {"topics": ["news", "sport"]}) as channel,
    ):
        wait_until_gone(server, others=1)
        recipients = [
            server.publish(topic, "", topic=topic)["recipients"]
            for topic in ("news", "weather", "sport", "default")
        ]

        assert [each["sse"] for each in recipients] == [1, 0, 1, 0]
        assert [stream.next_notification()["topic"] for _ in range(2)] == ["news", "sport"]
        assert [channel.next_notification()["topic"] for _ in range(2)] == ["news", "sport"]


def test_a_target_transport_and_device_filter_and_never_show_on_the_wire(server: RunningServer) -> None:
    _status, device = server.request("POST", "/api/devices", {})
    cookie = {"Cookie": f"siar_device={device['device']}.{device['token']}"}
    with (
        sse(server.port, headers=cookie) as mine,
        sse(server.port) as other,
        socketio(server.port) as channel,
    ):
        to_device = server.publish("only mine", "", targets={"devices": [device["device"]]})
        to_transport = server.publish("only sse", "", targets={"transport": "sse"})
        server.publish("everyone", "")

        assert to_device["recipients"] == {"sse": 1, "socketio": 0}
        assert to_transport["recipients"] == {"sse": 2, "socketio": 0}
        received = mine.next_notification()
        assert received["title"] == "only mine"
        assert "targets" not in received
        assert other.next_notification()["title"] == "only sse"
        assert channel.next_notification()["title"] == "everyone"


def test_an_idle_stream_has_heartbeats_that_carry_the_position(server: RunningServer) -> None:
    with sse(server.port, "?topic=silent") as stream:
        answer = server.publish("for others", "")

        while stream.last_event_id != answer["id"]:
            assert stream.read_some().startswith(b": heartbeat\nid: ")


def test_a_published_key_is_published_once(server: RunningServer) -> None:
    first = server.publish("once", "", idempotency_key="key-1")
    again, repeated = server.request(
        "POST", "/api/notifications", {"title": "once", "body": "", "idempotency_key": "key-1"}
    )

    assert again == 200
    assert repeated["id"] == first["id"]


def test_server_stamps_are_on_one_time_base(server: RunningServer) -> None:
    _status, before = server.request("GET", "/api/clock")
    sent_us = server.publish("stamped", "")["sent_us"]
    _status, after = server.request("GET", "/api/clock")

    assert before["received_us"] <= before["sent_us"] < sent_us < after["received_us"]
    assert before["timebase"] == after["timebase"]


def test_a_due_time_counts_from_the_past_but_not_from_the_future(server: RunningServer) -> None:
    _status, now = server.request("GET", "/api/clock")

    with sse(server.port) as stream:
        server.publish("late", "", due_us=now["sent_us"] - 30_000_000)
        assert stream.next_notification()["due_us"] == now["sent_us"] - 30_000_000
    for due_us in (now["sent_us"] + 60_000_000, now["sent_us"] - 120_000_000, -1, 2**70):
        assert (
            server.request("POST", "/api/notifications", {"title": "t", "body": "", "due_us": due_us})[0]
            == 400
        )


def test_a_client_that_stops_reading_is_cut_off_and_the_others_are_not(tmp_path: Path) -> None:
    """Trap 12: the libraries would queue for it without a limit."""
    with (
        running_server(tmp_path, queue_notifications_max=20, recorder=0) as server,
        sse(server.port) as good,
        socket.create_connection(("127.0.0.1", server.port)) as stalled,
        socket.socket() as stalled_websocket,
    ):
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stalled_websocket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled_websocket.connect(("127.0.0.1", server.port))
        _subscribe_raw(stalled_websocket)
        titles = []
        deadline_s = time.monotonic() + PATIENCE_S
        number = 0
        while slow_cuts(server).keys() != {"sse", "socketio"}:
            assert time.monotonic() < deadline_s, "the stalled clients were not cut off"
            for _ in range(20):
                number += 1
                server.publish(str(number), "z" * 20_000)
                titles.append(good.next_notification()["title"])

        assert titles == [str(each) for each in range(1, number + 1)]


def _subscribe_raw(sock: socket.socket) -> None:
    websocket_by_hand(sock)
    sock.sendall(bytes([0x81, 0x82, 0, 0, 0, 0]) + b"40")  # the packet CONNECT in a frame masked with zeros
    read_until(sock, b"40{")


@pytest.mark.parametrize(
    ("accepted", "content_type"),
    [
        ("text/plain; version=0.0.4", "text/plain; version=0.0.4"),
        ("text/plain; version=1.0.0", "text/plain; version=1.0.0"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0"),
        ("*/*", "text/plain; version=0.0.4"),
    ],
)
def test_metrics_come_in_the_version_that_was_asked_for(
    server: RunningServer, accepted: str, content_type: str
) -> None:
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Accept": accepted})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        text = answer.read().decode()

    assert answer.headers["Content-Type"].startswith(content_type)
    assert "siar_connections{" in text
    assert text.endswith("# EOF\n") == ("openmetrics" in accepted)


def test_the_head_of_a_stream_has_a_date_and_no_length(server: RunningServer) -> None:
    for method in ("GET", "HEAD"):
        request = urllib.request.Request(f"{server.url}/events", method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            sent = parsedate_to_datetime(answer.headers["Date"])
            assert abs(sent.timestamp() - time.time()) < PATIENCE_S
            assert "Content-Length" not in answer.headers
