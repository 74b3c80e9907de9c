"""What every page begins with comes from one template: sheets in their order, one entry module, no script of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.server.factory import create_app
from app.settings import Settings

SHEET = re.compile(r'<link rel="stylesheet" href="/static/css/(\w+)\.css" />')
SCRIPT = re.compile(r"<script ([^>]*)>")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return create_app(Settings(admin_token="t", runs_dir=tmp_path_factory.mktemp("heads"))).test_client()


@pytest.mark.parametrize(
    ("path", "sheets", "module"),
    [
        ("/", ["index", "room", "result"], "page.js"),
        ("/selftest", ["index", "selftest"], "selftest/page.js"),
        ("/admin", ["experiment", "admin"], "admin/page.js"),
        ("/screen?key=k", ["experiment", "screen"], "screen/page.js"),
    ],
)
def test_a_page_has_the_shared_sheets_first_then_its_own_and_one_module(
    client: FlaskClient, path: str, sheets: list[str], module: str
) -> None:
    page = client.get(path).get_data(as_text=True)

    assert page.startswith("<!doctype html>\n<html lang=")
    assert SHEET.findall(page) == ["tokens", "base", *sheets]
    assert SCRIPT.findall(page) == [
        'type="application/json" id="siar-config"',
        f'type="module" src="/static/js/{module}"',
    ]
    assert ('name="robots"' in page) is (path == "/selftest")


def test_a_page_that_refuses_runs_nothing_and_tells_nothing_of_the_server(client: FlaskClient) -> None:
    answer = client.get("/nowhere", headers={"Accept": "text/html"})
    page = answer.get_data(as_text=True)

    assert answer.status_code == 404
    assert SHEET.findall(page) == ["tokens", "base", "experiment", "refused"]
    assert SCRIPT.findall(page) == []
    assert "SECRET_KEY" not in page, "Flask's own `config` is what a template without one would show"


def test_each_page_in_the_folder_is_built_on_the_shared_one_or_is_a_report_that_stands_alone() -> None:
    folder = Path(__file__).parents[2] / "templates"
    alone = {"base.html", "report.html"}

    built = {
        path.name
        for path in folder.glob("*.html")
        if path.read_text(encoding="utf-8").startswith('{% extends "base.html" %}\n')
    }

    assert {path.name for path in folder.glob("*.html")} == built | alone
