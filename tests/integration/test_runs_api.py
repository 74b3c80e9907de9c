"""Runs over HTTP: listed, opened, taken away, deleted with undo; nobody but the operator, and nothing outside."""

from __future__ import annotations

import http.client
import io
import shutil
import zipfile
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.stored_run import DEVICES, NAMES, store_run

RUN = "2026-01-01T00-00-00-0001"
OTHER = "2026-01-02T00-00-00-0002"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("runs-api")
    with running_server(folder, recorder=0) as running:
        for run in (RUN, OTHER):
            store_run(running.runs_dir, run)
        yield running
        assert "Traceback" not in running.log()


def fetch(server: RunningServer, path: str, token: str | None = None) -> tuple[int, dict[str, str], bytes]:
    """A GET of exactly this path, which urllib would tidy up: status, headers, content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        headers = {"Authorization": f"Bearer {server.admin_token if token is None else token}"}
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        content = response.read()
        return response.status, dict(response.headers), content
    finally:
        connection.close()


def test_the_list_has_the_contract_s_members_newest_first(server: RunningServer) -> None:
    status, listed = server.request("GET", "/api/runs")

    assert status == 200
    assert [each["id"] for each in listed if not each["id"].startswith("live-")] == [OTHER, RUN]
    assert set(listed[0]) == {
        "id", "started", "state", "complete", "profile", "simulated", "phones", "verdict", "problem",
        "problem_code",
    }  # fmt: skip


def test_a_damaged_run_says_by_a_code_and_in_the_readers_language_what_is_wrong(
    server: RunningServer,
) -> None:
    folder = server.runs_dir / "2026-01-01T00-00-00-dead"
    folder.mkdir()
    (folder / "run.sqlite").write_bytes(b"no database, whatever it is called")
    try:
        found = {
            language: server.request(
                "GET", f"/api/runs/{folder.name}", headers={"Accept-Language": language}
            )[1]
            for language in ("en", "id")
        }
    finally:
        shutil.rmtree(folder)

    assert {each["problem_code"] for each in found.values()} == {"run_database_damaged"}
    assert found["en"]["problem"].startswith("run.sqlite is damaged: ")
    assert found["id"]["problem"].startswith("run.sqlite rusak: ")


def test_a_run_comes_with_the_plan_to_run_it_again(server: RunningServer) -> None:
    status, found = server.request("GET", f"/api/runs/{RUN}")

    assert status == 200
    assert found["plan"]["client_counts"] == [2]
    assert found["runner"] is None
    assert [each["name"] for each in found["downloads"]] == ["report", "export.zip"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/runs"),
        ("POST", "/api/runs"),
        ("GET", f"/api/runs/{RUN}"),
        ("DELETE", f"/api/runs/{RUN}"),
        ("POST", f"/api/runs/{RUN}/restore"),
        ("POST", f"/api/runs/{RUN}/pause"),
        ("POST", f"/api/runs/{RUN}/resume"),
        ("POST", f"/api/runs/{RUN}/stop"),
        ("GET", f"/api/runs/{RUN}/report"),
        ("GET", f"/api/runs/{RUN}/export.zip"),
        ("GET", "/api/presets"),
        ("POST", "/api/links"),
    ],
)
def test_nobody_but_the_operator_gets_at_runs(server: RunningServer, method: str, path: str) -> None:
    assert server.request(method, path, token="")[0] == 401


def test_a_stored_report_is_shown_where_it_can_do_nothing(server: RunningServer) -> None:
    status, headers, page = fetch(server, f"/api/runs/{RUN}/report")

    assert status == 200
    assert page == (server.runs_dir / RUN / "report.html").read_bytes()
    policy = headers["Content-Security-Policy"]
    assert policy == "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.slow  # tests/integration/test_run_exports.py looks into one by default.
def test_an_export_is_a_zip_without_identities(server: RunningServer) -> None:
    status, headers, content = fetch(server, f"/api/runs/{RUN}/export.zip")

    assert status == 200
    assert headers["Content-Disposition"] == f'attachment; filename="siar-{RUN}.zip"'
    assert headers["Content-Length"] == str(len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.testzip() is None
        everything = b"".join(packed.read(name) for name in packed.namelist())
    for secret in (*DEVICES, *NAMES, server.admin_token):
        assert secret.encode() not in everything


def test_a_deleted_run_is_out_of_the_list_and_comes_back(server: RunningServer) -> None:
    status, answer = server.request("DELETE", f"/api/runs/{OTHER}")
    assert status == 200
    assert OTHER not in [each["id"] for each in server.request("GET", "/api/runs")[1]]
    assert server.request("GET", f"/api/runs/{OTHER}")[0] == 404

    assert server.request("POST", answer["restore_url"])[0] == 200
    assert server.request("GET", f"/api/runs/{OTHER}")[1]["complete"] is True
    assert server.request("POST", answer["restore_url"])[0] == 404


def test_the_live_run_cannot_be_deleted(server: RunningServer) -> None:
    status, answer = server.request("DELETE", f"/api/runs/{server.run}")

    assert status == 409
    assert "live" in answer["detail"]


@pytest.mark.parametrize(
    "run",
    [
        "..", "%2e%2e", ".trash", "%2e%2e%2fruns", "..%2f..%2fetc", "a%00b", "x" * 300, "%F0%9F%A6%8E",
        "-rf", f"{RUN}%0a", f"{RUN}%2f..%2f{RUN}", "nothing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("rest", ["", "/report", "/export.zip"])
def test_no_path_leads_out_of_the_runs(server: RunningServer, run: str, rest: str) -> None:
    status, _headers, content = fetch(server, f"/api/runs/{run}{rest}")

    assert status in (308, 404)
    assert b"root:" not in content
    assert str(server.runs_dir).encode() not in content


def test_a_run_that_is_not_under_way_can_neither_pause_nor_stop(server: RunningServer) -> None:
    for action in ("pause", "resume", "stop"):
        status, answer = server.request("POST", f"/api/runs/{RUN}/{action}")

        assert status == 409
        assert "not under way" in answer["detail"]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "phones"),
        ({"phones": 6}, "preset"),
        ({"preset": "classroom"}, "phones"),
        ({"preset": "lunch", "phones": 6}, "radio_asleep"),
        ({"preset": "classroom", "plan": {}, "phones": 6}, "either"),
        ({"preset": "classroom", "phones": 0}, "phones"),
        ({"preset": "classroom", "phones": 201}, "phones"),
        ({"preset": "hundred_clients", "phones": 6}, "Built-in"),
        ({"plan": {"arms": ["sse"], "client_counts": [3]}, "phones": 2}, "3 phones"),
        ({"plan": {"arms": ["sse"], "seed": "x"}, "phones": 2}, "seed"),
        ({"plan": {"arms": ["sse"], "notifications": 1_400}, "phones": 2}, "at most 1400"),
        ({"plan": {"arms": [{"transport": "sse", "via": "file:///etc"}]}, "clients": "built-in"}, "via"),
        ({"plan": "classroom", "phones": 6}, "object"),
        ({"preset": "classroom", "phones": 6, "token": "x"}, "token"),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_words(
    server: RunningServer, body: dict[str, object], word: str
) -> None:
    status, answer = server.request("POST", "/api/runs", body)

    assert status == 400
    assert word in answer["detail"]


def test_presets_come_with_plan_and_length(server: RunningServer) -> None:
    status, presets = server.request("GET", "/api/presets?phones=4")

    assert status == 200
    by_id = {each["id"]: each for each in presets}
    assert set(by_id) == {"classroom", "study", "radio_asleep", "big_payload", "hundred_clients"}
    assert by_id["classroom"]["plan"]["client_counts"] == [1, 2, 4]
    assert 0 < by_id["classroom"]["length_s"] <= 720
    assert by_id["hundred_clients"]["built_in"] is True
    assert server.request("GET", "/api/presets?phones=0")[0] == 400
    assert server.request("GET", "/api/presets?phones=1e9")[0] == 400
