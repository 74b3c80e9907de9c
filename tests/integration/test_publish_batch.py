"""Batches on a real server: JSON arrays and NDJSON, subscribers of both transports, chunked bodies."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, ServerSettings, running_server
from tests.support.streams import socketio, sse

COUNT = 1000

NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module", params=FANOUTS)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("batches")
    settings = fanout_settings(request.param) | {"publish_per_s_max": 1_000_000}
    with running_server(folder, recorder=0, **settings) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def encoded(notifications: Sequence[dict[str, Any]], content_type: str) -> bytes:
    if content_type == NDJSON:
        return b"".join(json.dumps(each).encode() + b"\n" for each in notifications)
    return json.dumps(notifications).encode()


def post(
    server: RunningServer, body: bytes | Iterator[bytes], content_type: str
) -> tuple[int, dict[str, Any]]:
    """Send one request with keep-alive, so that an early response is read, too. An iterator is sent as chunks."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": content_type}
    with contextlib.closing(link):
        link.request("POST", "/api/notifications", body, headers, encode_chunked=not isinstance(body, bytes))
        response = link.getresponse()
        return response.status, json.loads(response.read())


def send(server: RunningServer, notifications: Sequence[dict[str, Any]], content_type: str) -> list[Any]:
    status, answer = post(server, encoded(notifications, content_type), content_type)
    assert status == 200, answer
    return list(answer["results"])


@pytest.mark.parametrize("content_type", ["application/json", NDJSON])
def test_subscribers_get_all_of_a_batch_once_and_in_order(server: RunningServer, content_type: str) -> None:
    titles = [f"number {number:04}" for number in range(COUNT)]
    with sse(server.port) as stream, socketio(server.port) as channel:
        results = send(server, [{"title": title, "body": "x" * 500} for title in titles], content_type)
        last = server.publish("behind it")
        received = [stream.next_notification() for _ in range(COUNT + 1)]
        by_channel = [channel.next_notification() for _ in range(COUNT + 1)]

    first = results[0]["offset"]
    assert [each["status"] for each in results] == [201] * COUNT
    assert [each["offset"] for each in results] == list(range(first, first + COUNT))
    assert {tuple(each["recipients"].items()) for each in results} == {(("sse", 1), ("socketio", 1))}
    assert [(each["id"], each["title"]) for each in received] == [
        *((result["id"], title) for result, title in zip(results, titles, strict=True)),
        (last["id"], "behind it"),
    ]
    assert by_channel == received


def test_a_batch_goes_on_behind_bad_entries_and_used_keys(server: RunningServer) -> None:
    notifications: list[dict[str, Any]] = [
        {"title": "a", "body": "", "idempotency_key": "batch"},
        {"title": "no body"},
        {"title": "b", "body": "", "topic": "other"},
        {"title": "a", "body": "", "idempotency_key": "batch"},
        {"title": "else", "body": "", "idempotency_key": "batch"},
    ]
    with sse(server.port) as stream:
        results = send(server, notifications, NDJSON)
        again = send(server, notifications[:1], "application/json")
        received = [stream.next_notification()["title"] for _ in range(2)]

    assert [each["status"] for each in results] == [201, 400, 201, 200, 409]
    assert [each["status"] for each in again] == [200]
    assert received == ["a", "b"]


def test_a_batch_is_history_like_any_other(server: RunningServer) -> None:
    results = send(server, [{"title": str(number), "body": ""} for number in range(5)], NDJSON)

    with sse(server.port, f"?last_event_id={results[1]['id']}") as stream:
        received = [stream.next_notification()["id"] for _ in range(3)]

    assert received == [each["id"] for each in results[2:]]


def test_a_long_batch_comes_in_chunks_too(server: RunningServer) -> None:
    """With its framing it exceeds the limit for all other bodies."""
    raw = encoded([{"title": "t", "body": "x" * 9_000}] * 110, NDJSON)

    status, answer = post(server, (raw[begin : begin + 60] for begin in range(0, len(raw), 60)), NDJSON)

    assert status == 200
    assert [each["status"] for each in answer["results"]] == [201] * 110


@pytest.mark.parametrize(
    ("raw", "content_type", "status", "words"),
    [
        (b"[]", "application/json", 400, ["at least one"]),
        (b"\n", NDJSON, 400, ["at least one"]),
        (b"[{}", "application/json", 400, ["body"]),
        (b"[" + b"{}," * 1000 + b"{}]", "application/json", 413, ["1000", "1048576"]),
        (b"{}\n" * 1001, NDJSON, 413, ["1000", "1048576"]),
        (b" " * 1_048_577, NDJSON, 413, ["1000", "1048576"]),
        (b"[" + b" " * 3_000_000 + b"]", "application/json", 413, ["1000", "1048576"]),
    ],
)
def test_a_bad_batch_is_refused_with_a_sentence(
    server: RunningServer, raw: bytes, content_type: str, status: int, words: list[str]
) -> None:
    answered, problem = post(server, raw, content_type)

    assert (answered, problem["status"]) == (status, status)
    assert all(word in problem["detail"] for word in words), problem


def test_a_batch_is_kept_by_a_file_across_a_restart(tmp_path: Path) -> None:
    settings: ServerSettings = {"broker": f"sqlite:///{tmp_path}/history.db", "recorder": 0}
    with running_server(tmp_path, **settings) as server:
        ids = [each["id"] for each in send(server, [{"title": "t", "body": ""}] * 50, NDJSON)]
    with running_server(tmp_path, **settings) as server:
        answer = server.request("GET", "/api/notifications?limit=100")[1]

    assert [each["id"] for each in answer["notifications"]] == ids
