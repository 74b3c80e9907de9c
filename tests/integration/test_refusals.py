"""What the server refuses and what its runner notes, in the reader's language; and bounds on what one device may do."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.errors import Conflict
from app.lab.run.api import find_server
from app.lab.run.room_api import RoomOperator
from tests.support.patience import PATIENCE_S
from tests.support.room_by_hand import CONDUCT, OPENING, begin_trial, new_phone, operator, post
from tests.support.server import RunningServer, ServerSettings, running_server

DEVICE_BYTES_MAX = 4096

RUNNER_SILENCE_S = 1

NAVIGATION = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
"""What browsers say when somebody follows a link."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("refusals")
    settings: ServerSettings = {
        "spool_device_bytes_max": DEVICE_BYTES_MAX,
        "runner_silence_s": RUNNER_SILENCE_S,
    }
    with running_server(folder, recorder=0, **settings) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    """With a closed room."""
    operator(running, "DELETE", "/api/room")
    return running


@pytest.mark.parametrize(
    ("wanted", "language", "words"),
    [
        (None, "en", "The room is closed"),
        ("id", "id", "Ruang ini sedang tertutup"),
        ("id-ID,id;q=0.9,en;q=0.5", "id", "Ruang ini"),
        ("fr, de;q=0.5", "en", "The room"),
    ],
)
def test_a_refusal_is_in_the_readers_language_with_a_code_for_programs(
    server: RunningServer, wanted: str | None, language: str, words: str
) -> None:
    headers = {} if wanted is None else {"Accept-Language": wanted}

    status, problem = server.request("POST", "/api/room/start", headers=headers)

    assert (status, problem["code"]) == (409, "cannot_start")
    assert words in problem["detail"]
    assert problem["parameters"] == {"phase": "closed"}
    assert server.request("POST", f"/api/room/start?lang={language}")[1]["detail"] == problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/nothing", "no_such_page"),
        ("PATCH", "/api/room", "wrong_method"),
        ("GET", "/api/runs/nothing", "run_unknown"),
        ("POST", "/api/room", "body_unexpected"),
        ("PUT", "/api/room/progress", "body_unexpected"),
    ],
)
def test_whatever_refuses_has_a_code_and_indonesian_words(
    server: RunningServer, method: str, path: str, code: str
) -> None:
    english, indonesian = (
        server.request(method, path, [] if method in ("POST", "PUT") else None, headers=headers)[1]
        for headers in ({}, {"Accept-Language": "id"})
    )

    assert (english["code"], indonesian["code"]) == (code, code)
    assert english["detail"] != indonesian["detail"]


def test_a_foreign_host_is_refused_in_the_readers_language(server: RunningServer) -> None:
    """Before the application has begun with the request."""
    headers = {"Host": "evil.example", "Accept-Language": "id"}

    status, problem = server.request("GET", "/healthz", headers=headers)

    assert (status, problem["code"]) == (421, "foreign_host")
    assert "Server ini" in problem["detail"]


def test_who_follows_a_link_reads_a_page_and_no_json(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    connection.request("GET", "/api/runs?lang=id", headers={"Accept": NAVIGATION})
    response = connection.getresponse()
    page = response.read().decode()
    connection.close()

    assert response.status == 401
    assert response.headers["Content-Type"].startswith("text/html")
    assert '<html lang="id">' in page
    assert "Ini hanya untuk operator" in page


NOTE = {"code": "left", "parameters": {"pseudonym": "P1"}}


def test_a_note_is_read_in_the_readers_language_until_its_phone_has_itself_deleted(
    server: RunningServer,
) -> None:
    operator(server, "POST", "/api/room", OPENING, expected=201)
    phone = new_phone(server)
    phone.join(name="Red Gecko")
    said = {"round": 1, "notes": [{**NOTE, "device": phone.device}]}
    operator(server, "PUT", "/api/room/progress?run=run-1", said)

    before = note_texts(server, "id")
    phone.request("DELETE", "/api/deliveries")
    after = [*note_texts(server, "en"), *note_texts(server, "id")]

    assert ["Red Gecko" in text and "sudah pergi" in text for text in before] == [True, True]
    assert not any("Gecko" in text for text in after)
    assert all("(P1)" in text for text in after)


def note_texts(server: RunningServer, language: str) -> list[str]:
    """The note as the operator's page and the big screen have it."""
    headers = {"Accept-Language": language}
    room = server.request("GET", "/api/room", headers=headers)[1]
    screen = server.request("GET", f"/api{room['screen_url']}", headers=headers)[1]
    (of_room,), (of_screen,) = room["progress"]["notes"], screen["progress"]["notes"]
    assert "device" not in json.dumps([of_room, of_screen])
    return [of_room["text"], of_screen["text"]]


@pytest.mark.parametrize(
    "note",
    [
        {"code": "unheard_of"},
        {"code": "../left"},
        {"code": "left", "parameters": {"pseudonym": ["P1"]}},
        {"code": "left", "parameters": {f"p{number}": 1 for number in range(9)}},
        "words",
    ],
)
def test_a_note_that_has_no_text_is_refused(server: RunningServer, note: Any) -> None:
    operator(server, "POST", "/api/room", OPENING, expected=201)

    assert server.request("PUT", "/api/room/progress?run=run-1", {"notes": [note]})[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/room/trial", None),
        ("PUT", "/api/room/progress", {"round": 1}),
        (
            "POST",
            "/api/room/finish",
            {"verdict": {"code": "same", "sentence_en": "No.", "sentence_id": "Tidak."}},
        ),
    ],
)
def test_a_runner_that_does_not_say_for_which_run_it_speaks_is_not_heard(
    server: RunningServer, method: str, path: str, body: Any
) -> None:
    """It may be one of an experiment that was cancelled."""
    operator(server, "POST", "/api/room", OPENING, expected=201)

    status, problem = server.request(method, path, raw=json.dumps(body).encode())
    room = operator(server, "GET", "/api/room")

    assert (status, problem["code"]) == (400, "run_missing")
    assert (room["phase"], room["round"], room["run"]) == ("gathering", None, "run-1")


def test_one_device_that_posts_without_end_is_stopped_and_the_others_are_not(server: RunningServer) -> None:
    operator(server, "POST", "/api/room", {**OPENING, "run": "run-greedy"}, expected=201)
    greedy, modest = new_phone(server), new_phone(server)
    greedy.join()
    modest.join()
    begin_trial(server, 0, "run-greedy")

    said = {"run": "run-greedy", "trial": 0, "conduct": CONDUCT}
    answers = [post(greedy, [], batch_id=f"batch-{number:04}", **said) for number in range(30)]
    others, _answer = post(modest, [], **said)

    assert {status for status, _answer in answers} == {200, 413}
    assert answers[-1][1]["code"] == "device_full"
    assert "SIAR_SPOOL_DEVICE_BYTES_MAX" in answers[-1][1]["detail"]
    assert others == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"])
def test_what_a_proxy_passed_on_is_not_of_this_machine(server: RunningServer, header: str) -> None:
    """A proxy on this machine that nobody named would make everybody the operator's neighbour."""
    of_this_machine = server.request("GET", "/metrics", token="")
    passed_on = server.request("GET", "/metrics", token="", headers={header: "192.0.2.7"})
    signed_in = server.request("POST", "/api/sessions", {}, headers={header: "192.0.2.7"})

    assert of_this_machine[0] == 200
    assert passed_on[0] == 401
    assert (signed_in[0], signed_in[1]["code"]) == (403, "admin_over_http")


def test_a_room_whose_runner_was_killed_closes_and_says_why(server: RunningServer) -> None:
    """Until then the runner has asked how the room stands, as ours does twice a second."""
    runner = RoomOperator(find_server(server.url, admin_token=server.admin_token), "run-killed")
    runner.open_room(wanted_count=1, length_s=60.0, plan={})
    phone = new_phone(server)
    phone.join()
    asked = runner.room()

    deadline_s = time.monotonic() + PATIENCE_S
    while (room := operator(server, "GET", "/api/room"))["phase"] != "closed":
        assert time.monotonic() < deadline_s
        time.sleep(0.1)

    assert asked["phase"] == "gathering"
    assert room["closed_because"] == phone.assignment()["closed_because"] == "runner_silent"
    with pytest.raises(Conflict, match="not open for run run-killed"):
        runner.put_progress({"round": 1})
