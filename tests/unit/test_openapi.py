"""The description of the interface is the interface: every route is in it, and every body's type."""

from __future__ import annotations

import re
from pathlib import Path

from app.server.factory import create_app
from app.server.web.service.openapi import BODIES, document
from app.settings import Settings


def test_every_route_is_described_and_nothing_else() -> None:
    app = create_app(Settings(admin_token="t", runs_dir=Path("nowhere")))
    routes = {
        (method.lower(), re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not rule.rule.startswith("/static/")
    }

    described = {(method, path) for path, methods in document()["paths"].items() for method in methods}

    assert described == routes


def test_every_body_refers_to_a_schema_that_refuses_unknown_members() -> None:
    schemas = document()["components"]["schemas"]

    for body in BODIES.values():
        assert schemas[body.__name__]["additionalProperties"] is False


def test_every_part_of_a_path_that_varies_is_a_parameter_of_each_of_its_operations() -> None:
    operations = [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]

    wrong = [
        (path, method)
        for path, method, operation in operations
        if {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
        != set(re.findall(r"{(\w+)}", path))
    ]

    assert wrong == []
