"""Text beyond ASCII: UTF-8 on every wire, 20,000 characters of it, and no line that a reader of 64 KB lines refuses."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator

import pytest
import requests

from app.core.notification import Notification
from app.core.position import Position
from app.core.units import ServerUs
from app.core.wire import BODY_CHARS_MAX, CONTENT_BYTES_MAX, EVENT_NOTIFICATION, OFFSET_MAX
from app.server.transports.socket_io.frames import FORM_RECOVERING, event_frame
from app.server.transports.sse import frame
from tests.support.fanouts import fanout_settings
from tests.support.patience import PATIENCE_S
from tests.support.protocol_server import Endpoint, Polling
from tests.support.server import RunningServer, running_server
from tests.support.streams import socketio, sse

LINE_BYTES_MAX = 65_535
"""As Go's `bufio.Scanner` and other readers have it, the line's end left out."""

KHMER = "សូមអានសារនេះឥឡូវនេះ " * 1_000
"""Three bytes a character, and as a JSON escape six."""

LINE_ENDS = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj\nk\r\nl"
"""All that `str.splitlines` takes for the end of a line."""


@pytest.fixture(scope="module", params=["direct", "stock"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("non_latin")
    with running_server(folder, recorder=0, **fanout_settings(request.param)) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def data_line(server: RunningServer, last_event_id: str) -> bytes:
    """The first event's data behind a position as its one line has it, raw."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", "/events", headers={"Last-Event-ID": last_event_id})
        with connection.getresponse() as response:
            return next(line for line in response if line.startswith(b"data: ")).rstrip(b"\n")


def before(answer: dict[str, object]) -> str:
    """The position before a notification."""
    epoch, _, offset = str(answer["id"]).rpartition(".")
    return f"{epoch}.{int(offset) - 1}"


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "utf-8"])
def test_twenty_thousand_characters_of_any_plane_but_the_rare_ones_come_in_a_line_below_64_kb(
    server: RunningServer, escaped: bool
) -> None:
    body = KHMER[:BODY_CHARS_MAX]
    assert len(body) == BODY_CHARS_MAX
    request = json.dumps({"title": "ប្រកាស", "body": body}, ensure_ascii=escaped).encode()
    polling = Polling(Endpoint(server.port, "/socket.io/"))
    polling.send("40")
    assert str(polling.receive()).startswith("40{")
    with sse(server.port) as stream, socketio(server.port) as channel:
        status, answer = server.request("POST", "/api/notifications", raw=request)
        assert status == 201, answer

        assert stream.next_notification()["body"] == body
        packet = channel.next_packet()
        polled = polling.receive()
    line = data_line(server, before(answer))
    assert json.loads(line.removeprefix(b"data: "))["body"] == body
    assert packet == polled == f'42["notification",{line.removeprefix(b"data: ").decode()}]'
    assert len(line) <= LINE_BYTES_MAX
    history = requests.get(f"{server.url}/api/notifications?after={answer['offset'] - 1}", timeout=PATIENCE_S)
    assert line.removeprefix(b"data: ") in history.content


def test_what_would_be_longer_than_such_a_line_is_413_with_both_limits(server: RunningServer) -> None:
    status, answer = server.request(
        "POST", "/api/notifications", {"title": "t", "body": "\N{WAVING HAND SIGN}" * BODY_CHARS_MAX}
    )

    assert status == 413
    assert answer["code"] == "notification_too_long"
    assert str(CONTENT_BYTES_MAX) in answer["detail"]
    assert str(BODY_CHARS_MAX) in answer["detail"]


def test_the_longest_that_is_taken_is_still_an_event_below_64_kb(server: RunningServer) -> None:
    room = CONTENT_BYTES_MAX - len('"t"' + '""' + "{}")
    body = "\N{WAVING HAND SIGN}" * (room // 4) + "x" * (room % 4)

    assert server.request("POST", "/api/notifications", {"title": "t", "body": body + "x"})[0] == 413
    answer = server.publish("t", body)

    assert json.loads(data_line(server, before(answer)).removeprefix(b"data: "))["body"] == body


def test_an_event_whose_other_parts_are_as_long_as_they_get_is_below_64_kb_too() -> None:
    position = Position("e" * 32, OFFSET_MAX)
    body = "x" * (CONTENT_BYTES_MAX - len('"t"' + '""' + "{}"))
    stamp_us = ServerUs(10**18)
    longest = Notification(position, "t" * 64, stamp_us, stamp_us, "t", body)

    event = frame(longest)
    packet = event_frame(EVENT_NOTIFICATION, longest.json, longest.id, form=FORM_RECOVERING)

    assert max(len(event), len(packet)) <= LINE_BYTES_MAX


def test_a_client_by_requests_reads_text_and_no_line_end_in_it_ends_a_line(server: RunningServer) -> None:
    """`decode_unicode` decodes, and then splits where Python sees a line's end."""
    text = "Grüße, ខ្មែរ \N{WAVING HAND SIGN} " + LINE_ENDS
    answer = server.publish("t", text, data={text: [text]})

    with requests.get(
        f"{server.url}/events",
        headers={"Last-Event-ID": before(answer)},
        stream=True,
        timeout=PATIENCE_S,
    ) as stream:
        stream.encoding = "utf-8"
        lines = stream.iter_lines(chunk_size=1, decode_unicode=True)
        line = next(line for line in lines if line.startswith("data: "))
    assert json.loads(line.removeprefix("data: "))["body"] == text
    assert json.loads(line.removeprefix("data: "))["data"] == {text: [text]}
