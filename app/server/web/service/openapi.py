"""`GET /api/openapi.json`: the HTTP interface, described from the very types that decode its requests."""

from __future__ import annotations

import functools
from typing import Any

import flask
import msgspec

from app.core import idempotency_header
from app.core.version import VERSION
from app.server.web.devices import deliveries
from app.server.web.publish import batch, publishing
from app.server.web.runs import trials
from app.server.web.service import authority, openapi_room, openapi_runs
from app.server.wsgi.problem import CONTENT_TYPE

blueprint = flask.Blueprint("openapi", __name__)

Json = dict[str, Any]

BODIES: dict[tuple[str, str], type] = {
    ("post", "/api/notifications"): publishing.Publish,
    ("post", "/api/devices"): deliveries.Device,
    ("post", "/api/deliveries"): deliveries.Batch,
    ("post", "/api/trials"): trials.Order,
    **openapi_room.BODIES,
    **openapi_runs.BODIES,
}
"""The type of each request's body."""

OPERATOR = frozenset({"/api/trials", "/api/trials/{run}/{trial}", "/api/trials/{run}/{trial}/instrument"})
"""Paths that only the operator may use; publishing is named apart, since reading history is open."""

_TEXT = "text/plain"
_JSON = "application/json"

SUMMARIES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("get", "/"): ("The phone page", "200", "text/html"),
    ("get", "/admin"): ("The operator's page", "200", "text/html"),
    ("get", "/screen"): ("The big screen", "200", "text/html"),
    ("get", "/events"): ("Server-Sent Events: notifications as they come", "200", "text/event-stream"),
    ("get", "/api/notifications"): ("History of the operator's notifications to everyone", "200", _JSON),
    ("post", "/api/notifications"): ("Publish a notification, or a batch (operator)", "201", _JSON),
    ("post", "/api/devices"): ("Register a device; gives its token and cookie", "201", _JSON),
    ("post", "/api/deliveries"): ("Post a batch of measured arrivals (device)", "200", _JSON),
    ("post", "/api/trials"): ("Start a trial's source", "201", _JSON),
    ("get", "/api/trials/{run}/{trial}"): ("A trial's record", "200", _JSON),
    ("get", "/api/trials/{run}/{trial}/instrument"): ("What was recorded of a trial", "200", _JSON),
    ("delete", "/api/trials/{run}/{trial}"): ("Close a trial", "200", _JSON),
    ("get", "/api/clock"): ("Two server stamps, microseconds", "200", _JSON),
    ("get", "/healthz"): ("The process answers", "200", _TEXT),
    ("get", "/readyz"): ("The service takes clients", "200", _TEXT),
    ("get", "/version"): ("What runs here, and where its clock channel is", "200", _JSON),
    ("get", "/metrics"): ("Prometheus text (operator or loopback)", "200", _TEXT),
    ("get", "/ca.crt"): (
        "Certificate to install on phones, where there is one",
        "200",
        authority.CONTENT_TYPE,
    ),
    ("get", "/api/openapi.json"): ("This document", "200", _JSON),
    **openapi_room.SUMMARIES,
    **openapi_runs.SUMMARIES,
}
"""Summary of each path, and status and type of its successful response."""


def _query(name: str, description: str, kind: str = "string") -> Json:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind}}


_TRIAL: list[Json] = [
    {"name": "run", "in": "path", "required": True, "schema": {"type": "string"}},
    {"name": "trial", "in": "path", "required": True, "schema": {"type": "integer"}},
]

PARAMETERS: dict[str, list[Json]] = {
    "/": [_query("lang", "en or id")],
    "/admin": [_query("lang", "en or id"), _query("key", "of a one-time link, which the page spends")],
    "/screen": [_query("lang", "en or id"), _query("key", "of the big screen's link")],
    "/events": [
        {
            **_query("topic", "repeatable; none means all"),
            "schema": {"type": "array", "items": {"type": "string"}},
        },
        _query("last_event_id", "resume after this position; the header Last-Event-ID wins"),
    ],
    "/api/notifications": [
        _query("after", "offset or position to start behind"),
        _query("limit", "at most so many (1 to 1000)", "integer"),
    ],
    "/api/trials/{run}/{trial}": _TRIAL,
    "/api/trials/{run}/{trial}/instrument": _TRIAL,
    **openapi_room.PARAMETERS,
    **openapi_runs.PARAMETERS,
}

OPERATION_PARAMETERS: dict[tuple[str, str], list[Json]] = {
    ("post", "/api/notifications"): [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "description": 'the member `idempotency_key`, as in "8e03978e-40d5"; the quotes may be left out; not for a batch',
            "schema": {"type": "string", "pattern": idempotency_header.PATTERN},
        }
    ],
    **openapi_room.OPERATION_PARAMETERS,
}
"""Those that one method of a path has."""

_PUBLISH: Json = {"$ref": "#/components/schemas/Publish"}
_BATCH: Json = {"type": "array", "items": _PUBLISH, "minItems": 1, "maxItems": batch.COUNT_MAX}
_RESULT: Json = {
    "type": "object",
    "description": "the response to the notification alone: the members of a 201, or a problem document",
    "properties": {
        "status": {"type": "integer", "description": "status of that response: 201, 200, 400, 409 or 413"}
    },
    "required": ["status"],
}

CONTENTS: dict[tuple[str, str], Json] = {
    ("post", "/api/notifications"): {
        _JSON: {"schema": {"oneOf": [_PUBLISH, _BATCH]}},
        batch.NDJSON: {"schema": {"type": "string", "description": "a batch, one notification per line"}},
    }
}
"""Request bodies of operations that accept more than one JSON object."""

FURTHER_RESPONSES: dict[tuple[str, str], Json] = {
    ("post", "/api/notifications"): {
        "200": {
            "description": "for a batch: a result for each notification, in order; for a repeated key: as 201",
            "content": {
                _JSON: {
                    "schema": {
                        "type": "object",
                        "properties": {"results": {"type": "array", "items": _RESULT}},
                    }
                }
            },
        }
    }
}
"""Successful responses in addition to the one in `SUMMARIES`."""


@blueprint.get("/api/openapi.json")
def openapi() -> flask.Response:
    """The document (OpenAPI 3.1)."""
    return flask.jsonify({**document(), "servers": [{"url": flask.request.script_root or "/"}]})


@functools.cache
def document() -> Json:
    """The whole description."""
    _, schemas = msgspec.json.schema_components(BODIES.values(), ref_template="#/components/schemas/{name}")
    schemas["Problem"] = {
        "type": "object",
        "description": "RFC 9457",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "in the language of Accept-Language: en or id"},
            "code": {"type": "string", "description": "stable: what happened, for programs"},
            "parameters": {"type": "object", "description": "what the sentence's places are filled with"},
        },
        "required": ["type", "title", "status", "detail"],
    }
    paths: dict[str, Json] = {}
    for (method, path), (summary, status, content_type) in SUMMARIES.items():
        paths.setdefault(path, {})[method] = _operation(method, path, summary, status, content_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Siar", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(method: str, path: str, summary: str, status: str, content_type: str) -> Json:
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    operation: Json = {
        "summary": summary,
        "responses": {
            status: {"description": "ok", "content": {content_type: {}}},
            **FURTHER_RESPONSES.get((method, path), {}),
            "4XX": {"description": "what is wrong, in words", "content": {CONTENT_TYPE: problem}},
        },
    }
    parameters = _parameters(method, path)
    if parameters:
        operation["parameters"] = parameters
    body = BODIES.get((method, path))
    if body is not None:
        schema = {"$ref": f"#/components/schemas/{body.__name__}"}
        content = CONTENTS.get((method, path), {_JSON: {"schema": schema}})
        operation["requestBody"] = {"required": True, "content": content}
    for_operators = OPERATOR | openapi_room.OPERATOR | openapi_runs.OPERATOR
    needs_token = path in for_operators | openapi_room.DEVICE | {"/api/deliveries"}
    if needs_token or (method, path) in (("post", "/api/notifications"), ("get", "/api/devices")):
        operation["security"] = [{"token": []}]
    return operation


def _parameters(method: str, path: str) -> list[Json]:
    """Those of the path, for a post without those of its query, and those of the method alone."""
    of_path = [each for each in PARAMETERS.get(path, []) if each["in"] == "path" or method != "post"]
    return of_path + OPERATION_PARAMETERS.get((method, path), [])
