"""Socket.IO's connection state recovery, with the official client and on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.interop import InteropClient, interop_client
from tests.support.server import RunningServer, running_server
from tests.support.streams import socketio

OPTIONS = {
    "transports": ["websocket"],
    "reconnection": True,
    "reconnectionDelay": 50,
    "reconnectionDelayMax": 50,
    "auth": {"recover": True},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("recovery"), recorder=0, history_count=20) as running:
        yield running
        assert "Traceback" not in running.log(), running.log()


def break_off(client: InteropClient) -> None:
    client.break_off()
    client.wait("disconnect")


@pytest.mark.slow
@pytest.mark.parametrize("events_before", [0, 1, 3])
def test_the_official_client_recovers_and_misses_nothing(server: RunningServer, events_before: int) -> None:
    """With no event before the break too, where Node's own server fails (socketio/socket.io#5538)."""
    with interop_client("javascript", server.url, **OPTIONS) as client:
        first = client.wait("connect")
        assert first["recovered"] is False
        for number in range(events_before):
            server.publish(f"before {number}", "")
            client.wait("event")
        break_off(client)
        missed = [server.publish(f"missed {number}", "")["id"] for number in range(5)]

        again = client.wait("connect")
        assert again["recovered"] is True
        assert again["id"] == first["id"], "its id is restored"
        events = [client.wait("event") for _ in range(5)]
        server.publish("live", "")
        assert client.wait("event")["args"][0]["title"] == "live"

    assert [event["args"][0]["id"] for event in events] == missed
    assert [event["args"][1] for event in events] == missed, "the offset is each event's last argument"


def test_it_recovers_more_than_once(server: RunningServer) -> None:
    with interop_client("javascript", server.url, **OPTIONS) as client:
        first = client.wait("connect")
        for turn in range(3):
            break_off(client)
            server.publish(f"turn {turn}", "")
            again = client.wait("connect")
            assert (again["recovered"], again["id"]) == (True, first["id"])
            assert client.wait("event")["args"][0]["title"] == f"turn {turn}"


def test_it_is_not_recovered_and_told_of_the_gap_when_history_no_longer_reaches_back(
    server: RunningServer,
) -> None:
    with socketio(server.port, {"recover": True}) as channel:
        pid = channel.connect["pid"]
        server.publish("seen", "")
        left_at = channel.next_notification_with_id()[1]
    for _ in range(30):
        server.publish("filler", "")

    with socketio(server.port, {"recover": True, "pid": pid, "offset": left_at}) as channel:
        assert channel.connect["pid"] != pid
        name, gap, offset = json.loads(channel.next_packet()[2:])

    assert name == "gap"
    assert gap["id"] == offset


@pytest.mark.parametrize("pid", ["guessed", "<b>.unknown.0", ".unknown.0", "x" * 5000])
def test_what_is_no_session_of_ours_starts_anew(server: RunningServer, pid: str) -> None:
    with socketio(server.port, {"recover": True, "pid": pid}) as channel:
        assert channel.connect["pid"] != pid
        assert channel.connect["sid"] not in pid


@pytest.mark.parametrize("hears_before", [True, False])
def test_a_restart_with_a_durable_history_is_no_reason_not_to_recover(
    tmp_path: Path, hears_before: bool
) -> None:
    settings: dict[str, Any] = {"broker": "sqlite:///history.db", "recorder": 0}
    with running_server(tmp_path, **settings) as server, socketio(server.port, {"recover": True}) as channel:
        before = channel.connect
        seen: dict[str, str] = {}
        if hears_before:
            server.publish("seen", "")
            seen["offset"] = channel.next_notification_with_id()[1]

    with running_server(tmp_path, **settings) as server:
        missed = server.publish("missed", "")["id"]
        with socketio(server.port, {"recover": True, "pid": before["pid"], **seen}) as channel:
            assert (channel.connect["pid"], channel.connect["sid"]) == (before["pid"], before["sid"])
            assert channel.next_notification_with_id()[1] == missed


def test_a_restart_that_lost_the_history_is_one(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0) as server, socketio(server.port, {"recover": True}) as channel:
        before = channel.connect

    auth = {"recover": True, "pid": before["pid"]}
    with running_server(tmp_path, recorder=0) as server, socketio(server.port, auth) as channel:
        assert channel.connect["pid"] != before["pid"]
        assert channel.connect["sid"] != before["sid"]
        assert json.loads(channel.next_packet()[2:])[0] == "gap"


def test_pid_and_offset_win_over_what_the_page_once_wrote_into_auth(server: RunningServer) -> None:
    old = server.publish("old", "")["id"]
    with socketio(server.port, {"recover": True, "last_event_id": old}) as channel:
        pid = channel.connect["pid"]
        newer = server.publish("newer", "")["id"]
        channel.next_notification_with_id()

    with socketio(
        server.port, {"recover": True, "last_event_id": old, "pid": pid, "offset": newer}
    ) as channel:
        server.publish("newest", "")
        assert channel.next_notification_with_id()[0]["title"] == "newest"


def test_who_does_not_ask_gets_one_argument_and_no_pid(server: RunningServer) -> None:
    with socketio(server.port) as channel:
        assert "pid" not in channel.connect
        server.publish("plain", "")
        assert len(json.loads(channel.next_packet()[2:])) == 2


@pytest.mark.parametrize(
    "auth", [{"recover": "yes"}, {"recover": True, "pid": 5}, {"recover": True, "offset": []}]
)
def test_malformed_recovery_is_refused_with_a_sentence(server: RunningServer, auth: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="44"), socketio(server.port, auth):
        pass
