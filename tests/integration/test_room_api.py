"""The room over HTTP: joining, reports, assignments, the operator, the runner and the screen, on one real server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import OPENING, TRIAL, VERDICT, Phone, new_phone, operator, put_trial
from tests.support.server import RunningServer, running_server
from tests.support.streams import socketio, sse


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("room"), recorder=0) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    """With an empty room that gathers phones."""
    room = operator(running, "GET", "/api/room")
    for each in room["participants"]:
        operator(running, "DELETE", f"/api/room/participants/{each['device']}")
    operator(running, "DELETE", "/api/room")
    operator(running, "POST", "/api/room", OPENING, expected=201)
    return running


def test_a_phone_joins_with_a_name_and_is_seen_by_operator_and_screen(server: RunningServer) -> None:
    phone = new_phone(server)

    joined = phone.join(name="  Siti\u202e ", model="Pixel 7")
    phone.report(checks={"sse": "ok", "clock": "failed"}, rtt_ms=3.5, clock_bound_ms=1.25, awake=True)
    room = operator(server, "GET", "/api/room")
    screen = operator(server, "GET", "/api" + room["screen_url"])

    assert joined == {"device": phone.device, "name": "Siti", "seat": 1}
    seen = room["participants"][0]
    assert seen["checks"] == {"sse": "ok", "socketio": "waiting", "clock": "failed"}
    assert (seen["model"], seen["rtt_ms"], seen["clock_bound_ms"], seen["awake"]) == (
        "Pixel 7",
        3.5,
        1.25,
        True,
    )
    assert screen["participants"] == [{name: seen[name] for name in seen if name != "device"}]


def test_a_name_is_proposed_in_the_readers_language_and_given_to_who_types_none(
    server: RunningServer,
) -> None:
    phone = new_phone(server)

    english = phone.request("GET", "/api/assignment?lang=en")[1]["you"]["proposed_name"]
    indonesian = phone.request("GET", "/api/assignment?lang=id")[1]["you"]["proposed_name"]
    _status, joined = phone.request("POST", "/api/participants?lang=id", {"name": "\u200b"})

    assert english != indonesian
    assert joined["name"] == indonesian


def test_a_trial_goes_from_connecting_to_its_result(server: RunningServer) -> None:
    phone, resting = new_phone(server), new_phone(server)
    phone.join()
    resting.join()

    put_trial(server, participants=[phone.device])
    told = phone.report(connected=True, trial_ready=0)["trial"]
    rests = resting.assignment()["trial"]
    put_trial(server, participants=[phone.device], state="running", first_due_us=1, ends_us=2**52)
    waits_ms = phone.assignment()["poll_after_ms"]
    operator(server, "PUT", "/api/room/progress?run=run-1", {"round": 1, "rounds": 2, "remaining_s": 4.5})
    phone.report(trial_done=0)
    seen = operator(server, "GET", "/api/room")["participants"][0]
    finish = {"verdict": VERDICT, "results": {phone.device: "/results/run-1/abc"}}
    operator(server, "POST", "/api/room/finish?run=run-1", finish)

    assert told == {**TRIAL, "take_part": True, "first_due_us": None, "ends_us": None}
    assert rests["take_part"] is False
    assert waits_ms == 60_000
    assert (seen["trial_ready"], seen["trial_done"]) == (0, 0)
    assert phone.assignment()["result_url"] == "/results/run-1/abc"
    assert resting.assignment()["result_url"] is None


def test_a_phone_that_only_asks_is_heard_of(server: RunningServer) -> None:
    phone = new_phone(server)
    phone.join()
    before = operator(server, "GET", "/api/room")["participants"][0]["last_seen_us"]

    phone.assignment()

    assert operator(server, "GET", "/api/room")["participants"][0]["last_seen_us"] > before


def test_null_ends_a_trial(server: RunningServer) -> None:
    phone = new_phone(server)
    phone.join()
    put_trial(server, participants=[phone.device])

    status, _answer = server.request("PUT", "/api/room/trial?run=run-1", raw=b"null")

    assert status == 200
    assert phone.assignment()["trial"] is None


OPERATOR_ONLY = [
    ("GET", "/api/room", None),
    ("POST", "/api/room", OPENING),
    ("DELETE", "/api/room", None),
    ("POST", "/api/room/start", None),
    ("POST", "/api/room/pause", None),
    ("POST", "/api/room/resume", None),
    ("POST", "/api/room/practice", None),
    ("PUT", "/api/room/trial", None),
    ("PUT", "/api/room/progress", {}),
    ("POST", "/api/room/finish", {"verdict": VERDICT}),
    ("DELETE", "/api/room/participants/d-0", None),
    ("GET", "/api/devices", None),
    ("DELETE", "/api/devices/d-0", None),
    ("GET", "/api/notifications/e.1/receipt", None),
]


@pytest.mark.parametrize(("method", "path", "body"), OPERATOR_ONLY)
def test_a_phone_cannot_act_as_operator(running: RunningServer, method: str, path: str, body: Any) -> None:
    """By its cookie: a wrong bearer would be counted as a guess, and tests share an address."""
    phone = new_phone(running)
    before = running.request("GET", "/api/room")[1]["version"]

    status, _answer = as_cookie(phone, method, path, body)

    assert status == 401
    assert running.request("GET", "/api/room")[1]["version"] == before


def as_cookie(phone: Phone, method: str, path: str, body: Any) -> tuple[int, Any]:
    """The request without any bearer."""
    request = urllib.request.Request(
        phone.server.url + path, None if body is None else json.dumps(body).encode(), method=method
    )
    request.add_header("Cookie", f"siar_device={phone.device}.{phone.token}")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/participants"),
        ("DELETE", "/api/participants/me"),
        ("GET", "/api/assignment"),
        ("POST", "/api/assignment"),
    ],
)
def test_who_is_no_device_is_refused_and_the_operator_is_none(
    running: RunningServer, method: str, path: str
) -> None:
    phone, other = new_phone(running), new_phone(running)

    for token in (running.admin_token, "", phone.token, f"{other.device}.{phone.token}", f"{phone.device}."):
        assert running.request(method, path, {}, token=token)[0] == 401


def test_a_phone_acts_for_itself_whatever_it_says(server: RunningServer) -> None:
    victim, attacker = new_phone(server), new_phone(server)
    victim.join(name="Victim")

    status, _answer = attacker.request("POST", "/api/assignment", {"device": victim.device, "name": "X"})
    attacker.report(name="X", ready=True)
    attacker.request("DELETE", "/api/participants/me")

    assert status == 400
    seen = operator(server, "GET", "/api/room")["participants"]
    assert [(each["name"], each["ready"]) for each in seen] == [("Victim", False)]


def test_the_cookie_is_as_good_as_the_token(server: RunningServer) -> None:
    phone = new_phone(server)

    status, joined = as_cookie(phone, "POST", "/api/participants", {"name": "Cookie"})

    assert (status, joined["seat"]) == (201, 1)


@pytest.mark.parametrize("key", ["", "x", "0" * 32, "é"])
def test_the_screen_is_for_those_with_its_link(running: RunningServer, key: str) -> None:
    assert running.request("GET", f"/api/screen?key={quote(key)}", token="x" * 3)[0] == 403


def test_the_screen_tells_no_device_no_token_and_no_link_of_anyone(server: RunningServer) -> None:
    phone = new_phone(server)
    phone.join()
    put_trial(server, participants=[phone.device])
    screen_url = operator(server, "GET", "/api/room")["screen_url"]

    running_text = json.dumps(operator(server, "GET", "/api" + screen_url))
    finish = {"verdict": VERDICT, "table": [[1]], "results": {phone.device: "/results/run-1/secret-key"}}
    operator(server, "POST", "/api/room/finish?run=run-1", finish)
    finished = operator(server, "GET", "/api" + screen_url)

    for text in (running_text, json.dumps(finished)):
        assert phone.device not in text
        assert "secret-key" not in text
        assert server.admin_token not in text
    assert finished["result"] == {"verdict": VERDICT, "table": [[1]], "downloads": []}


BAD_BODIES = [
    ("POST", "/api/room", {**OPENING, "run": "../evil"}),
    ("POST", "/api/room", {**OPENING, "wanted_count": 201}),
    ("POST", "/api/room", {**OPENING, "unknown": 1}),
    ("PUT", "/api/room/trial", {**TRIAL, "participants": [], "transport": "pigeon"}),
    ("PUT", "/api/room/trial", {**TRIAL, "participants": [], "topic": "a b"}),
    ("PUT", "/api/room/trial", {**TRIAL, "participants": ["x"] * 201}),
    ("PUT", "/api/room/trial", {**TRIAL, "participants": [], "factors": {"a": {"b": 1}}}),
    ("PUT", "/api/room/progress", {"phase": "finished"}),
    ("PUT", "/api/room/progress", {"results": {"sse": {"1": {"unknown": 1}}}}),
    ("POST", "/api/room/finish", {"verdict": VERDICT, "results": {"d": "https://evil.example/"}}),
    ("POST", "/api/room/finish", {"verdict": VERDICT, "results": {"d": "//evil.example/"}}),
    ("POST", "/api/room/finish", {"verdict": VERDICT, "downloads": [{"name": "x", "url": "javascript:1"}]}),
]


@pytest.mark.parametrize(("method", "path", "body"), BAD_BODIES)
def test_what_does_not_have_the_form_is_refused_in_words(
    running: RunningServer, method: str, path: str, body: Any
) -> None:
    """Before anybody asks for which run: the run that is missing here would be another 400."""
    status, answer = running.request(method, path, body)

    assert (status, answer["code"]) == (400, "body_unexpected")
    assert len(answer["detail"]) > 10


@pytest.mark.parametrize(
    "body",
    [{"name": "x" * 41}, {"model": "x" * 81}, {"name": 1}, {"rtt_ms": 1}, [], None, {"join_code": "x" * 17}],
)
def test_a_bad_joining_is_refused(server: RunningServer, body: Any) -> None:
    assert new_phone(server).request("POST", "/api/participants", body)[0] == 400


@pytest.mark.parametrize(
    "body",
    [
        {"rtt_ms": -1},
        {"rtt_ms": 1e10},
        {"ready": "yes"},
        {"checks": {"sse": "great"}},
        {"trial_done": -1},
        {"seat": 1},
    ],
)
def test_a_bad_report_is_refused(server: RunningServer, body: Any) -> None:
    assert new_phone(server).request("POST", "/api/assignment", body)[0] == 400


def test_a_body_that_is_too_long_is_refused(server: RunningServer) -> None:
    phone = new_phone(server)

    for path in ("/api/participants", "/api/assignment"):
        assert phone.request("POST", path, raw=b'{"name": "' + b"x" * 5000 + b'"}')[0] == 413


def test_the_table_of_devices_shows_both_transports_alike_and_cuts_off(server: RunningServer) -> None:
    first, second = new_phone(server), new_phone(server)
    first.join(name="First")
    first.report(rtt_ms=2.5, jitter_ms=0.5, clock_bound_ms=1.5)

    with (
        sse(
            server.port, "?topic=news", headers={"Cookie": f"siar_device={first.device}.{first.token}"}
        ) as one,
        socketio(server.port, headers={"Cookie": f"siar_device={second.device}.{second.token}"}) as other,
        sse(server.port),
    ):
        table = operator(server, "GET", "/api/devices")
        rows = {each["device"]: each for each in table["devices"]}
        operator(server, "DELETE", f"/api/devices/{first.device}")
        operator(server, "DELETE", f"/api/devices/{second.device}")
        ended = one.response.read()
        with pytest.raises(ConnectionClosed):
            other.next_packet()

    assert set(rows) == {first.device, second.device}
    assert table["anonymous_count"] == 1
    assert rows[first.device]["name"] == "First"
    assert (rows[first.device]["transport"], rows[first.device]["topics"]) == ("sse", ["news"])
    assert (rows[first.device]["rtt_ms"], rows[first.device]["clock_bound_ms"]) == (2.5, 1.5)
    assert (rows[second.device]["transport"], rows[second.device]["topics"]) == ("socketio", None)
    assert {each["path"] for each in rows.values()} == {"direct"}
    assert all(each["connected_us"] > 0 and each["buffered_bytes"] == 0 for each in rows.values())
    assert b"retry:" in ended
    assert server.request("DELETE", f"/api/devices/{first.device}")[0] == 404


def test_a_device_may_say_its_name_when_it_registers(server: RunningServer) -> None:
    _status, answer = server.request("POST", "/api/devices", {"name": "Shelf\u202e 3"})
    cookie = {"Cookie": f"siar_device={answer['device']}.{answer['token']}"}

    with sse(server.port, headers=cookie):
        rows = operator(server, "GET", "/api/devices")["devices"]

    assert [each["name"] for each in rows if each["device"] == answer["device"]] == ["Shelf 3"]
