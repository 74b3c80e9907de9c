"""Every request from the LAN is untrusted: a 4xx with a useful sentence, and no traceback in the log."""

from __future__ import annotations

import http.client
import urllib.request
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import GOOD_TRIAL
from tests.support.server import RunningServer, running_server

GOOD_SAMPLE = {
    "id": "e.1",
    "transport": "sse",
    "due_us": 1,
    "sent_us": 2,
    "received_client_us": 3.5,
    "displayed_client_us": None,
    "clock_offset_us": None,
    "clock_bound_us": None,
    "state": "ok",
    "outcome": "on_time",
    "visible": True,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("bad"), recorder=0, log_level="info") as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


@pytest.fixture(scope="module")
def device(server: RunningServer) -> dict[str, str]:
    _status, answer = server.request("POST", "/api/devices", {})
    return answer


def assert_problem(answer: Any, status: int, *words: str) -> None:
    """A problem document (RFC 9457) whose sentence says what is wrong."""
    assert isinstance(answer, dict), answer
    assert answer["status"] == status
    assert {"type", "title", "detail"} <= set(answer)
    assert len(answer["detail"]) > 10
    for word in words:
        assert word in answer["detail"], answer


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "at least one"),
        (b"null", "object"),
        (b'{"title": "t"}', "body"),
        (b'{"title": 1, "body": ""}', "$.title"),
        (b'{"title": "", "body": ""}', "$.title"),
        (b'{"title": "t", "body": null}', "$.body"),
        (b'{"title": "t", "body": "", "topic": "a b"}', "$.topic"),
        (b'{"title": "t", "body": "", "topic": "a\\n"}', "$.topic"),
        (b'{"title": "t", "body": "", "topic": ""}', "$.topic"),
        (b'{"title": "t", "body": "", "topic": "' + b"x" * 65 + b'"}', "$.topic"),
        (b'{"title": "t", "body": "", "data": []}', "$.data"),
        (b'{"title": "t", "body": "", "data": {"x": NaN}}', "body"),
        (b'{"title": "t", "body": "", "data": {"x": 1e999}}', "body"),
        (b'{"title": "t", "body": "", "data": {"x": Infinity}}', "body"),
        (b'{"title": "\\ud800", "body": ""}', "body"),
        (b'{"title": "t", "body": "", "data": {"x": "\\udfff"}}', "body"),
        (b'{"title": "\xff", "body": ""}', "body"),
        (b'{"title": "t", "body": "", "ttl_s": -1}', "$.ttl_s"),
        (b'{"title": "t", "body": "", "ttl_s": 1e300}', "$.ttl_s"),
        (b'{"title": "t", "body": "", "ttl_s": "5"}', "$.ttl_s"),
        (b'{"title": "t", "body": "", "due_us": 1.5}', "$.due_us"),
        (b'{"title": "t", "body": "", "due_us": -5}', "due_us"),
        (b'{"title": "t", "body": "", "due_us": 99999999999999999999999}', "due_us"),
        (b'{"title": "t", "body": "", "idempotency_key": ""}', "$.idempotency_key"),
        (b'{"title": "t", "body": "", "targets": {"transport": "carrier pigeon"}}', "$.targets.transport"),
        (b'{"title": "t", "body": "", "misspelt": 1}', "misspelt"),
        (b'{"title": "t", "body": "", "data": {"x": ' + b"[" * 30_000 + b"]" * 30_000 + b"}}", "body"),
        (b'{"title": "t", "body": "' + b"x" * 20_001 + b'"}', "$.body"),
        (b'{"title": "t", "body": "", "data": {"x": "' + b"x" * 33_000 + b'"}}', "data"),
    ],
)
def test_a_bad_publish_is_a_400_that_says_where(server: RunningServer, raw: bytes, word: str) -> None:
    status, answer = server.request("POST", "/api/notifications", raw=raw)

    assert status == 400, answer
    assert_problem(answer, 400, word)


def test_a_publish_at_the_limits_is_taken(server: RunningServer) -> None:
    server.publish("t" * 200, "b" * 20_000, data={"x": "y" * 32_000}, topic="A-z_0.9~", ttl_s=0.5)


@pytest.mark.parametrize(
    ("path", "body_bytes"),
    [("/api/notifications", 270_000), ("/api/deliveries", 33_000), ("/api/devices", 2000)],
)
def test_an_oversize_body_is_a_413(server: RunningServer, path: str, body_bytes: int) -> None:
    status, answer = server.request("POST", path, raw=b'{"x": "' + b"y" * body_bytes + b'"}')

    assert status == 413
    assert_problem(answer, 413, "bytes")


def test_an_oversize_body_in_chunks_is_a_413_too(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {server.admin_token}", "Transfer-Encoding": "chunked"}
    chunks = (b"x" * 10_000 for _ in range(40))
    try:
        connection.request("POST", "/api/notifications", body=chunks, headers=headers, encode_chunked=True)
        response = connection.getresponse()
        assert response.status == 413
        response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("token", ["", "wrong", "test-operator-token2", "test-operator-toke", "é"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/notifications"),
        ("POST", "/api/trials"),
        ("GET", "/api/trials/r/0"),
        ("DELETE", "/api/trials/r/0"),
    ],
)
def test_a_foreign_token_is_a_401(server: RunningServer, method: str, path: str, token: str) -> None:
    status, answer = server.request(
        method,
        path,
        {"title": "t", "body": ""},
        headers={"Authorization": f"Bearer {token}".encode().decode("latin-1")},
        source=f"127.0.7.{1 + zlib.crc32(f'{method} {path} {token}'.encode()) % 250}",  # Guessers wait.
    )

    assert status == 401
    assert_problem(answer, 401, "token")


@pytest.mark.parametrize(
    "query",
    ["after=-1", "after=x", "after=99999999999999999999", "after=1e3", "limit=0", "limit=9999", "after=x.y"],
)
def test_a_bad_question_to_history_is_a_400(server: RunningServer, query: str) -> None:
    status, answer = server.request("GET", f"/api/notifications?{query}")

    assert status == 400
    assert_problem(answer, 400)


@pytest.mark.parametrize(
    "query", ["topic=a%20b", "topic=", "topic=%F0%9F%91%8B", "topic=" + "x" * 65, "&".join(["topic=a"] * 33)]
)
def test_malformed_topics_of_a_stream_are_a_400(server: RunningServer, query: str) -> None:
    status, answer = server.request("GET", f"/events?{query}")

    assert status == 400
    assert_problem(answer, 400, "topic")


def test_a_body_may_begin_with_a_bom(server: RunningServer) -> None:
    status, _ = server.request(
        "POST", "/api/notifications", raw=b'\xef\xbb\xbf{"title": "Hi", "body": "there"}'
    )

    assert status == 201


@pytest.mark.parametrize("name", ["topics", "lasteventid", "since"])
def test_a_parameter_that_a_stream_does_not_know_is_a_400(server: RunningServer, name: str) -> None:
    status, answer = server.request("GET", f"/events?{name}=a")

    assert status == 400
    assert_problem(answer, 400, name)


@pytest.mark.parametrize("name", ["last_event_id", "lastEventId", "last-event-id", "Last-Event-ID"])
def test_a_position_is_taken_by_each_usual_name_and_no_proxy_may_transform_the_stream(
    server: RunningServer, name: str
) -> None:
    first = server.publish("one")
    server.publish("two")

    with urllib.request.urlopen(
        f"{server.url}/events?{name}={first['id']}&_=1", timeout=PATIENCE_S
    ) as stream:
        text = b""
        while b'"title":"two"' not in text:
            text += stream.read(1)

    assert b'"title":"one"' not in text
    assert stream.headers["Cache-Control"] == "no-store, no-transform"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"batch_id": "short"}, "batch_id"),
        ({"batch_id": "x" * 65}, "batch_id"),
        ({"batch_id": "../../etc/passwd"}, "batch_id"),
        ({"samples": []}, "samples"),
        ({"samples": [GOOD_SAMPLE | {"due_us": -1}]}, "due_us"),
        ({"samples": [GOOD_SAMPLE | {"due_us": 2**60}]}, "due_us"),
        ({"samples": [GOOD_SAMPLE | {"received_client_us": 1e300}]}, "received_client_us"),
        ({"samples": [GOOD_SAMPLE | {"clock_bound_us": -1}]}, "clock_bound_us"),
        ({"samples": [GOOD_SAMPLE | {"state": "excellent"}]}, "state"),
        ({"samples": [GOOD_SAMPLE | {"visible": "yes"}]}, "visible"),
        ({"samples": [GOOD_SAMPLE | {"extra": 1}]}, "extra"),
        ({"samples": [GOOD_SAMPLE] * 201}, "samples"),
        ({"trial": -1}, "trial"),
        ({"trial": 1.5}, "trial"),
        ({"clock_channel": "sundial"}, "clock_channel"),
    ],
)
def test_a_bad_batch_is_refused_with_its_place(
    server: RunningServer, device: dict[str, str], change: dict[str, Any], word: str
) -> None:
    status, answer = post_batch(server, device, **change)

    assert status in (400, 413), answer
    if status == 400:
        assert_problem(answer, 400, word)


@pytest.mark.parametrize("run", ["unknown", "..", "../..", "/etc", ""])
def test_an_unknown_run_is_a_404(server: RunningServer, device: dict[str, str], run: str) -> None:
    status, answer = post_batch(server, device, run=run)

    assert status == 404
    assert_problem(answer, 404, "run")


def test_an_unknown_trial_is_a_404(server: RunningServer, device: dict[str, str]) -> None:
    status, answer = post_batch(server, device, trial=77)
    assert status == 404
    assert_problem(answer, 404, "trial")
    status, answer = server.request("GET", "/api/trials/nothing/0")
    assert status == 404
    assert_problem(answer, 404, "trial")


def test_a_device_cannot_post_as_another(server: RunningServer, device: dict[str, str]) -> None:
    _status, other = server.request("POST", "/api/devices", {})

    status, answer = post_batch(server, device | {"token": other["token"]})

    assert status == 401
    assert_problem(answer, 401, "device")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"notifications": 0}, "notifications"),
        ({"notifications": 10**9}, "notifications"),
        ({"rate_hz": -1}, "rate_hz"),
        ({"rate_hz": 1e9}, "rate_hz"),
        ({"payload_bytes": 10}, "payload_bytes"),
        ({"transport": "telegraph"}, "transport"),
        ({"run": "../x"}, "run"),
        ({"run": "x" * 64, "payload_bytes": 256}, "payload_bytes"),
        ({"start_after_ms": -1}, "start_after_ms"),
    ],
)
def test_a_bad_trial_is_refused(server: RunningServer, change: dict[str, Any], word: str) -> None:
    status, answer = server.request("POST", "/api/trials", GOOD_TRIAL | change)

    assert status == 400
    assert_problem(answer, 400, word)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/static/../app/settings.py", 404),
        ("GET", "/static/%2e%2e/app/settings.py", 404),
        ("PUT", "/api/notifications", 405),
        ("GET", "/api/deliveries", 405),
        ("DELETE", "/events", 405),
    ],
)
def test_what_is_not_there_is_a_problem_document_too(
    server: RunningServer, method: str, path: str, status: int
) -> None:
    answered, answer = server.request(method, path)

    assert answered == status
    assert_problem(answer, status)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "a b", "localhost/../", "1.2.3.4.evil.example"]
)
def test_a_foreign_host_name_is_refused(server: RunningServer, host: str) -> None:
    for path in ("/", "/events", "/socket.io/?EIO=4&transport=polling"):
        status, answer = server.request("GET", path, headers={"Host": host})
        assert status in (400, 421), (path, answer)


@pytest.mark.parametrize("host", ["localhost", "siar", "siar.local", "192.168.1.7:8080", "[::1]:80"])
def test_our_own_names_are_served(server: RunningServer, host: str) -> None:
    assert server.request("GET", "/healthz", headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", "https://localhost"]
)
def test_a_foreign_origin_is_refused_on_both_transports(server: RunningServer, origin: str) -> None:
    for path in ("/events", "/socket.io/?EIO=4&transport=polling"):
        assert server.request("GET", path, headers={"Origin": origin})[0] == 403
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket", origin=Origin(origin))


def post_batch(server: RunningServer, device: dict[str, str], **change: Any) -> tuple[int, Any]:
    batch = {
        "batch_id": "batch-0001",
        "device": device["device"],
        "run": None,
        "trial": None,
        "clock_channel": "websocket",
        "timebase": "00",
        "samples": [GOOD_SAMPLE],
    }
    return server.request("POST", "/api/deliveries", batch | change, token=device["token"])
