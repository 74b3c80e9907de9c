"""The part of the OpenAPI document about the operator's sessions and runs."""

from __future__ import annotations

from typing import Any

from app.server.web.operator import sessions
from app.server.web.runs import runs

_JSON = "application/json"

BODIES: dict[tuple[str, str], type] = {
    ("post", "/api/sessions"): sessions.SignIn,
    ("post", "/api/runs"): runs.Start,
}

SUMMARIES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("post", "/api/sessions"): ("Sign in by a one-time link, or by the token", "201", _JSON),
    ("delete", "/api/sessions"): ("Sign out", "200", _JSON),
    ("post", "/api/links"): ("A new one-time link", "201", _JSON),
    ("get", "/api/presets"): ("Experiments that are ready to start, with their lengths", "200", _JSON),
    ("get", "/api/runs"): ("The runs, newest first", "200", _JSON),
    ("post", "/api/runs"): ("Start an experiment", "202", _JSON),
    ("get", "/api/runs/{run}"): ("A run, and how its runner is", "200", _JSON),
    ("delete", "/api/runs/{run}"): ("Move a run into the trash", "200", _JSON),
    ("post", "/api/runs/{run}/restore"): ("Bring a run back from the trash", "200", _JSON),
    ("post", "/api/runs/{run}/pause"): ("Pause a run when the present trial is over", "202", _JSON),
    ("post", "/api/runs/{run}/resume"): ("Go on after a pause", "202", _JSON),
    ("post", "/api/runs/{run}/stop"): ("End a run with what was measured until now", "202", _JSON),
    ("get", "/api/runs/{run}/report"): ("The stored report, sandboxed", "200", "text/html"),
    ("get", "/api/runs/{run}/export.zip"): (
        "Everything measured, under pseudonyms, with a manifest",
        "200",
        "application/zip",
    ),
    ("get", "/api/comparisons"): ("Runs against the first, as a page, sandboxed", "200", "text/html"),
}

OPERATOR = frozenset(path for _method, path in SUMMARIES if path != "/api/sessions")

_STRING = {"schema": {"type": "string"}}
_RUN: list[dict[str, Any]] = [{"name": "run", "in": "path", "required": True, **_STRING}]

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "/api/presets": [
        {"name": "phones", "in": "query", "description": "how many there are", "schema": {"type": "integer"}}
    ],
    "/api/comparisons": [
        {
            "name": "run",
            "in": "query",
            "required": True,
            "description": "two or more",
            "schema": {"type": "array", "items": {"type": "string"}},
        }
    ],
    **{path: _RUN for _method, path in SUMMARIES if path.startswith("/api/runs/{run}")},
}
