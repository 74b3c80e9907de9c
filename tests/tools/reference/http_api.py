"""The part of docs/http-api.md that is made from the OpenAPI document. No server is started for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from app.server.web.service import openapi, openapi_room
from tests.tools.reference.markdown import one_line, table

Json = dict[str, Any]

GROUPS = (
    ("Pages", ("/", "/admin", "/screen", "/selftest", "/results")),
    ("Receive and publish", ("/events", "/api/notifications")),
    ("Devices", ("/api/devices", "/api/deliveries", "/api/participants", "/api/assignment", "/api/selftest")),
    ("The room", ("/api/room", "/api/screen", "/api/results")),
    ("Experiments and runs", ("/api/runs", "/api/presets", "/api/comparisons", "/api/trials")),
    ("The operator's access", ("/api/sessions", "/api/links")),
    (
        "The service",
        ("/api/clock", "/healthz", "/readyz", "/version", "/metrics", "/ca.crt", "/api/openapi.json"),
    ),
)
"""Titles, and with which paths their own begin. The longest beginning counts."""

SCHEMAS = "#/components/schemas/"


def lines() -> Iterator[str]:
    """Yield a table of requests for each group, then a table of members for each body."""
    document = openapi.document()
    for title, _ in GROUPS:
        yield from (f"### {title}", "")
        head = ("request", "does", "who", "parameters", "body", "answer")
        yield from table(head, _requests(document["paths"], title))
        yield ""
    yield from (
        "### Bodies",
        "",
        "Members that are not named here are refused, except in `Problem`, `plan` and `data`.",
    )
    for name, schema in document["components"]["schemas"].items():
        yield from ("", f"#### {name}", "")
        yield from _members(schema)


def group_of(path: str) -> str:
    """Return the title under which a path is listed. Raises `LookupError` for one that belongs nowhere."""
    found = [
        (len(start), title)
        for title, starts in GROUPS
        for start in starts
        if path == start or (start != "/" and path.startswith((f"{start}/", f"{start}s")))
    ]
    if not found:
        raise LookupError(f"{path} belongs to no group of the reference")
    return max(found)[1]


def _requests(paths: Json, title: str) -> Iterator[tuple[str, ...]]:
    for path, methods in paths.items():
        if group_of(path) != title:
            continue
        for method, operation in methods.items():
            yield (
                f"`{method.upper()} {path}`",
                operation["summary"],
                _who(path, operation),
                ", ".join(
                    _parameter(each) for each in operation.get("parameters", ()) if each["in"] != "path"
                ),
                _body(operation),
                _answer(operation),
            )


def _who(path: str, operation: Json) -> str:
    if "security" not in operation:
        return ""
    return "device" if path in openapi_room.DEVICE | {"/api/deliveries"} else "operator"


def _parameter(parameter: Json) -> str:
    name = f"header `{parameter['name']}`" if parameter["in"] == "header" else f"`{parameter['name']}`"
    needed = ", required" if parameter.get("required") else ""
    said = parameter.get("description", "")
    return f"{name} ({said}{needed})" if said else f"{name}{' (required)' if needed else ''}"


def _body(operation: Json) -> str:
    contents = operation.get("requestBody", {}).get("content", {})
    return " or ".join(_shape(content["schema"], content_type) for content_type, content in contents.items())


def _shape(schema: Json, content_type: str) -> str:
    if "oneOf" in schema:
        return " or ".join(_shape(each, content_type) for each in schema["oneOf"])
    if schema.get("type") == "array":
        return f"array of {_shape(schema['items'], content_type)}"
    return _link(schema["$ref"]) if "$ref" in schema else f"`{content_type}` ({schema['description']})"


def _answer(operation: Json) -> str:
    return ", ".join(
        f"{status} `{content_type}`"
        + ("" if answer["description"] == "ok" else f" ({answer['description']})")
        for status, answer in operation["responses"].items()
        if status[0] == "2"
        for content_type in answer["content"]
    )


def _link(reference: str) -> str:
    name = reference.removeprefix(SCHEMAS)
    return f"[{name}](#{name.lower()})"


def _members(schema: Json) -> Iterator[str]:
    """Yield what a body is, and the table of its members."""
    if "description" in schema:
        yield from (one_line(schema["description"]), "")
    if "enum" in schema:
        yield f"One of {_kind(schema)}."
        return
    required = schema.get("required", ())
    rows = (
        (
            f"`{name}`",
            _kind(member),
            "required" if name in required else _default(member),
            member.get("description", ""),
        )
        for name, member in schema["properties"].items()
    )
    yield from table(("member", "is", "default", "meaning"), rows)


def _default(member: Json) -> str:
    if "default" not in member:
        return ""
    value = member["default"]
    return "null" if value is None else f"`{json.dumps(value)}`"


def _kind(schema: Json) -> str:
    """Return type and limits of a value in words."""
    if "$ref" in schema:
        return _link(schema["$ref"])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind = str(schema.get("type", "any value"))
    if kind == "array" and "items" in schema and isinstance(schema["items"], dict):
        kind = f"array of {_kind(schema['items'])}"
    return ", ".join([kind, *_limits(schema)])


def _limits(schema: Json) -> Iterator[str]:
    for low, high, unit in (
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minimum", "maximum", ""),
    ):
        if low in schema and schema[low] == schema.get(high):
            yield f"{schema[low]:,}{unit}"
        elif low in schema and high in schema:
            yield f"{schema[low]:,} to {schema[high]:,}{unit}"
        elif high in schema:
            yield f"at most {schema[high]:,}{unit}"
        elif low in schema:
            yield f"at least {schema[low]:,}{unit}"
    if "exclusiveMinimum" in schema:
        yield f"above {schema['exclusiveMinimum']:,}"
    if "pattern" in schema:
        yield f"`{schema['pattern'].removeprefix(chr(92) + 'A').removesuffix(chr(92) + 'Z')}`"
