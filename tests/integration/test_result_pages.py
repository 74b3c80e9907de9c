"""A phone's own result is there for whoever has its link; and files come stripped, once."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.server import RunningServer, running_server

RUN = "r-results"

KEY = "0123456789abcdef0123456789abcdef"

RESULT = {"schema": 1, "run": RUN, "pseudonym": "P1", "seat": 1, "arms": []}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("results")) as running:
        results = running.runs_dir / RUN / "results"
        results.mkdir(parents=True)
        (results / f"{KEY}.json").write_text(json.dumps(RESULT))
        (running.runs_dir / RUN / "participants.json").write_text('{"secret": true}')
        yield running


def test_a_result_is_read_by_its_link_alone(server: RunningServer) -> None:
    status, result = server.request("GET", f"/api/results/{RUN}/{KEY}", token="")
    page_status, page = server.request("GET", f"/results/{RUN}/{KEY}?lang=id", token="")

    assert (status, result) == (200, RESULT)
    assert page_status == 200
    assert "Tundaan pengiriman di ponsel ini" in page


@pytest.mark.parametrize(
    "address",
    [
        f"{RUN}/{KEY[:-1]}0",
        f"other/{KEY}",
        f"{RUN}/participants",
        f"{RUN}/..%2Fparticipants",
        f"..%2F..%2Fetc/{KEY}",
        f"{RUN}/{KEY}.json",
    ],
)
def test_any_other_link_is_answered_as_if_there_were_nothing(server: RunningServer, address: str) -> None:
    for path in (f"/results/{address}", f"/api/results/{address}"):
        status, answer = server.request("GET", path)

        assert status == 404
        assert "secret" not in str(answer)


def test_a_script_comes_stripped_and_is_not_sent_twice(server: RunningServer) -> None:
    with urllib.request.urlopen(f"{server.url}/static/js/page.js") as first:
        script, tag = first.read().decode(), first.headers["ETag"]
        assert first.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert first.headers["Content-Security-Policy"]

    status, body = server.request("GET", "/static/js/page.js", headers={"If-None-Match": tag})

    assert "/**" not in script
    assert (status, body) == (304, "")


@pytest.mark.parametrize(
    "path", ["js/none.js", "js/../../wsgi.py", "js/..%2f..%2fwsgi.py", "i18n/en", "css/"]
)
def test_what_is_no_file_of_the_page_is_not_served(server: RunningServer, path: str) -> None:
    status, answer = server.request("GET", f"/static/{path}")

    assert status == 404
    assert "import" not in str(answer)


@pytest.mark.parametrize("path", ["css/icon.svg", "vendor/socket.io-client-4.8.4/socket.io.esm.min.js"])
def test_other_files_come_as_they_are(server: RunningServer, path: str) -> None:
    assert server.request("GET", f"/static/{path}")[0] == 200
