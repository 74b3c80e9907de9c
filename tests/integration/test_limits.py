"""Every limit on what strangers and operators may send: what happens at it, over real sockets."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from app.server.factory import create_app
from app.settings import Settings
from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.metrics import metric
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import SocketIoReader, socketio, sse

LIMITS: ServerSettings = {
    "packet_bytes_max": 2048,
    "packets_per_s_max": 20,
    "topics_per_client_max": 2,
    "publish_body_bytes_max": 2048,
    "publish_per_s_max": 5,
    "header_bytes_max": 1024,
    "heartbeat_s": 0.5,  # by which the stock way notices that a client has left
}


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("limits")
    with running_server(folder, recorder=0, **LIMITS, **fanout_settings(request.param)) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def read_on(reader: SocketIoReader) -> None:
    while True:
        reader.websocket.recv(timeout=10)


def test_publishing_faster_than_allowed_is_429_with_the_time_to_wait(server: RunningServer) -> None:
    answers = [
        server.request("POST", "/api/notifications", {"title": "t", "body": str(number)})
        for number in range(40)
    ]

    refused = [answer for status, answer in answers if status == 429]
    assert refused
    assert "SIAR_PUBLISH_PER_S_MAX" in refused[0]["detail"]
    assert {status for status, _answer in answers} == {201, 429}


def test_a_publish_that_is_too_long_is_413(server: RunningServer) -> None:
    long = {"title": "t", "body": "x" * 3000}
    while (answered := server.request("POST", "/api/notifications", long))[0] == 429:
        pass  # The rate counts it too.
    status, answer = answered

    assert status == 413
    assert "2048" in answer["detail"]


def test_a_header_that_is_too_long_is_refused(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    connection.request("GET", "/healthz", headers={"X-Long": "x" * 2000})

    assert connection.getresponse().status in (400, 431)
    connection.close()


@pytest.mark.parametrize(("lines", "status"), [(12, 200), (20, 431)])
def test_a_head_of_many_lines_is_refused_by_its_whole_length(
    server: RunningServer, lines: int, status: int
) -> None:
    """Each line is within its limit; sixteen kilobytes in all are always allowed (app/server/wsgi/request_parser.py)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz", headers={f"X-{line}": "x" * 1000 for line in range(lines)})

        assert connection.getresponse().status == status


def test_too_many_topics_are_refused_alike(server: RunningServer) -> None:
    assert server.request("GET", "/events?topic=a&topic=b&topic=c")[0] == 400
    with (
        pytest.raises(AssertionError, match=r"44.*at most 2 topics"),
        socketio(server.port, {"topics": ["a", "b", "c"]}),
    ):
        pass


def test_a_packet_that_is_too_long_ends_its_connection_only(server: RunningServer) -> None:
    with socketio(server.port) as bystander, socketio(server.port) as offender:
        offender.websocket.send('42["x","' + "y" * 3000 + '"]')
        with pytest.raises(ConnectionClosed):
            read_on(offender)

        bystander.websocket.send("3")
        assert metric(server, 'siar_connections{transport="socketio"}') == 1


def test_a_client_that_floods_is_closed_and_others_are_not(server: RunningServer) -> None:
    """Two hundred at once are allowed here, twenty in a second on average."""
    with socketio(server.port) as bystander, socketio(server.port) as flooder:
        with contextlib.suppress(ConnectionClosed):
            for _ in range(2000):
                flooder.websocket.send("3")
        with pytest.raises(ConnectionClosed):
            read_on(flooder)

        bystander.websocket.send("3")
        assert metric(server, 'siar_connections{transport="socketio"}') == 1


def test_a_connection_that_ends_gives_its_place_back(server: RunningServer) -> None:
    before = metric(server, "siar_admitted_connections")
    with sse(server.port), socketio(server.port):
        assert metric(server, "siar_admitted_connections") == before + 2

    deadline_s = time.monotonic() + 10
    while metric(server, "siar_admitted_connections") != before:
        assert time.monotonic() < deadline_s, "places were not given back"


def test_a_polling_session_holds_a_place_too(server: RunningServer) -> None:
    before = metric(server, "siar_admitted_connections")

    status, _answer = server.request("GET", "/socket.io/?EIO=4&transport=polling")

    assert status == 200
    assert metric(server, "siar_admitted_connections") == before + 1


@pytest.mark.parametrize("path", ["/events", "/socket.io/?EIO=4&transport=polling"])
def test_one_address_cannot_take_all_places(path: str, tmp_path: Path) -> None:
    """By the application itself: the address is the WSGI server's word."""
    app = create_app(Settings(admin_token="t", runs_dir=tmp_path, connections_per_address_max=2))
    stranger = {"REMOTE_ADDR": "192.0.2.1"}
    client = app.test_client()
    held = [client.get(path, environ_base=stranger, buffered=False) for _ in range(2)]

    refused = client.get(path, environ_base=stranger)
    other = client.get(path, environ_base={"REMOTE_ADDR": "192.0.2.2"}, buffered=False)

    assert [response.status_code for response in held] == [200, 200]
    assert refused.status_code == 503
    assert "SIAR_CONNECTIONS_PER_ADDRESS_MAX" in refused.get_data(as_text=True)
    assert other.status_code == 200
    for response in (*held, other):
        response.close()


def test_the_file_descriptor_limit_is_raised_and_told(server: RunningServer) -> None:
    assert metric(server, "siar_file_descriptors_max") == resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def test_what_a_listener_writes_is_dropped_and_too_much_ends_it(server: RunningServer) -> None:
    """An event stream expects nothing of its client: bytes behind the request must not pile up."""
    if server.request("GET", "/version")[1]["fanout"] == "stock":
        return  # There they stay in the kernel, which is bounded too.
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"more " * 10)
        assert b"200 OK" in sock.recv(4096)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            sock.sendall(b"x" * 100_000_000)
