"""The room's part of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from app.server.web.devices import assignment, participants, self_test
from app.server.web.room import room_bodies

_JSON = "application/json"

BODIES: dict[tuple[str, str], type] = {
    ("post", "/api/participants"): participants.Join,
    ("post", "/api/assignment"): assignment.Report,
    ("post", "/api/room"): room_bodies.Opening,
    ("put", "/api/room/trial"): room_bodies.TrialForPhones,
    ("put", "/api/room/progress"): room_bodies.Progress,
    ("post", "/api/room/finish"): room_bodies.Finish,
    ("post", "/api/selftest"): self_test.SelfTest,
}

SUMMARIES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("post", "/api/participants"): ("Join the room (device)", "201", _JSON),
    ("delete", "/api/participants/me"): ("Leave the room (device)", "200", _JSON),
    ("get", "/api/assignment"): ("What a device is to do next (device)", "200", _JSON),
    ("post", "/api/assignment"): ("The same, after a report of how the device is (device)", "200", _JSON),
    ("get", "/api/room"): ("The room with everybody in it", "200", _JSON),
    ("post", "/api/room"): ("Open the room for an experiment", "201", _JSON),
    ("delete", "/api/room"): ("Cancel the experiment, or put a finished one away", "200", _JSON),
    ("post", "/api/room/start"): ("Start with who is ready", "200", _JSON),
    ("post", "/api/room/pause"): ("Pause when the present trial is over", "200", _JSON),
    ("post", "/api/room/resume"): ("Go on after a pause", "200", _JSON),
    ("delete", "/api/room/participants/{device}"): ("Send a device away", "200", _JSON),
    ("post", "/api/room/practice"): ("A practice round, of which nothing is kept", "200", _JSON),
    ("put", "/api/room/trial"): ("What phones are to do next, or null (runner)", "200", _JSON),
    ("put", "/api/room/progress"): ("How far the experiment is (runner)", "200", _JSON),
    ("post", "/api/room/finish"): ("How it ended (runner)", "200", _JSON),
    ("delete", "/api/deliveries"): ("Delete what was recorded about this device (device)", "200", _JSON),
    ("get", "/results/{run}/{key}"): ("A phone's own result, as a page; by its link", "200", "text/html"),
    ("get", "/api/results/{run}/{key}"): ("The same as JSON; by its link", "200", _JSON),
    ("get", "/api/screen"): ("What the big screen shows; by its link", "200", _JSON),
    ("get", "/api/screen/report"): ("The report that the big screen offers; by its link", "200", "text/html"),
    ("get", "/api/screen/export.zip"): (
        "The run that the big screen offers, under pseudonyms; by its link",
        "200",
        "application/zip",
    ),
    ("get", "/api/devices"): ("Who is connected (operator)", "200", _JSON),
    ("delete", "/api/devices/{device}"): ("Cut a device off (operator)", "200", _JSON),
    ("get", "/selftest"): ("The self-test of a phone, as a page", "200", "text/html"),
    ("post", "/api/selftest"): ("Keep what this device answered (device)", "200", _JSON),
    ("get", "/api/selftests"): ("What all devices answered (operator)", "200", _JSON),
    ("get", "/api/notifications/{id}/receipt"): ("Who got a notification (operator)", "200", _JSON),
}

OPERATOR = frozenset(
    path
    for _method, path in SUMMARIES
    if path.startswith(("/api/room", "/api/devices/", "/api/notifications/", "/api/selftests"))
)
DEVICE = frozenset({"/api/participants", "/api/participants/me", "/api/assignment", "/api/selftest"})
"""Paths that need an operator or a registered device; registering itself needs neither."""

_STRING = {"schema": {"type": "string"}}
_DEVICE: list[dict[str, Any]] = [{"name": "device", "in": "path", "required": True, **_STRING}]

_RESULT: list[dict[str, Any]] = [
    {"name": name, "in": "path", "required": True, **_STRING} for name in ("run", "key")
]

_KEY: list[dict[str, Any]] = [{"name": "key", "in": "query", "required": True, **_STRING}]

_RUN = {"name": "run", "in": "query", "description": "409 if the room is open for another one", **_STRING}
_IN_THE_NAME_OF: list[dict[str, Any]] = [{**_RUN, "required": True}]

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "/results/{run}/{key}": _RESULT,
    "/api/results/{run}/{key}": _RESULT,
    "/api/room/participants/{device}": _DEVICE,
    "/api/devices/{device}": _DEVICE,
    "/api/notifications/{id}/receipt": [{"name": "id", "in": "path", "required": True, **_STRING}],
    **dict.fromkeys(("/api/screen", "/api/screen/report", "/api/screen/export.zip"), _KEY),
}

OPERATION_PARAMETERS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("get", "/api/room"): [{**_RUN, "description": "a runner's, by which the room knows that it lives"}],
    ("delete", "/api/room"): [_RUN],
    ("put", "/api/room/trial"): _IN_THE_NAME_OF,
    ("put", "/api/room/progress"): _IN_THE_NAME_OF,
    ("post", "/api/room/finish"): _IN_THE_NAME_OF,
}
"""Parameters that only one method of a path has."""
