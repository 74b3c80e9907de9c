"""Runs compared and taken away over HTTP: what the operator's page and the big screen offer, and nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.test_runs_api import fetch
from tests.support.room_by_hand import OPENING, VERDICT, operator
from tests.support.server import RunningServer, running_server
from tests.support.stored_run import DEVICES, LAN_ADDRESS, NAMES
from tests.support.stored_run import store_run as store_phones_run
from tests.unit.support_run import RunMaker, a_plan, store_run

PHONES, OTHER = "2026-01-01T00-00-00-0001", "2026-01-02T00-00-00-0002"
BASE, SLOW, REAL = "2026-02-01T00-00-00-0003", "2026-02-02T00-00-00-0004", "2026-02-03T00-00-00-0005"

SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("exports"), recorder=0) as running:
        store_phones_run(running.runs_dir, PHONES)
        store_clients_run(running, BASE)
        store_clients_run(running, SLOW, delay_ms=1.2)
        yield running
        assert "Traceback" not in running.log(), running.log()


def store_clients_run(
    server: RunningServer, run: str, *, delay_ms: float = 0.6, simulated: bool = True
) -> None:
    plan = a_plan(client_counts=(1,), blocks=8, notifications=6)
    made = RunMaker(plan, delay_ms=lambda _arm, _clients, _client: delay_ms, seed=1).run()
    store_run(replace(made, id=run, simulated=simulated), server.runs_dir)


def compare(server: RunningServer, *runs: str, language: str = "en") -> tuple[int, dict[str, str], str]:
    query = "&".join(f"run={run}" for run in runs)
    status, headers, content = fetch(server, f"/api/comparisons?{query}&lang={language}")
    return status, headers, content.decode()


@pytest.mark.slow
def test_two_runs_are_compared_on_a_page_that_can_do_nothing(server: RunningServer) -> None:
    status, headers, page = compare(server, BASE, SLOW)

    assert status == 200
    assert headers["Content-Security-Policy"] == SANDBOX
    assert "Regression: delay of SSE at 1 client higher by" in page
    assert "Not comparable" not in page
    assert "<script" not in page


@pytest.mark.slow
def test_runs_that_are_not_comparable_say_so_before_any_figure(server: RunningServer) -> None:
    store_clients_run(server, REAL, simulated=False)

    status, _headers, page = compare(server, BASE, REAL, language="id")

    assert status == 200
    assert '<html lang="id">' in page
    assert "Tidak dapat dibandingkan: simulated: ya lawan tidak" in page
    assert page.index("Tidak dapat dibandingkan") < page.index("<details>") < page.index("selang 95%")


@pytest.mark.parametrize(
    ("runs", "status", "code"),
    [
        ((BASE,), 400, "runs_to_compare"),
        ((BASE,) * 9, 400, "runs_to_compare"),
        ((BASE, BASE), 400, "run_named_twice"),
        ((BASE, "nothing"), 404, "run_unknown"),
        ((BASE, "..%2f..%2fetc"), 404, "run_unknown"),
        ((BASE, "live"), 409, "live_is_being_written"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    server: RunningServer, runs: tuple[str, ...], status: int, code: str
) -> None:
    (server.runs_dir / server.run).mkdir(exist_ok=True)  # As when the first phone posts.

    answer = compare(server, *(server.run if run == "live" else run for run in runs))

    assert (answer[0], json.loads(answer[2])["code"]) == (status, code)
    assert fetch(server, f"/api/comparisons?run={BASE}&run={SLOW}", token="")[0] == 401


def test_an_export_has_a_manifest_with_true_hashes_and_names_nobody(server: RunningServer) -> None:
    status, _headers, content = fetch(server, f"/api/runs/{PHONES}/export.zip")

    assert status == 200
    check_export(content, PHONES)


def check_export(content: bytes, run: str) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        files = {name.rpartition("/")[2]: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    everything = b"".join(files.values())
    assert manifest["run"] == run
    assert {each["name"]: each["sha256"] for each in manifest["files"]} == {
        name: hashlib.sha256(text).hexdigest() for name, text in files.items()
    }
    for secret in (*DEVICES, *NAMES, LAN_ADDRESS):
        assert secret.encode() not in everything


def test_a_run_is_not_packed_while_it_is_written(server: RunningServer) -> None:
    """Another process conducts it; between its trials nothing else tells."""
    operator(server, "POST", "/api/room", {**OPENING, "run": BASE}, expected=201)

    during = fetch(server, f"/api/runs/{BASE}/export.zip")
    operator(server, "DELETE", "/api/room")

    assert during[0] == 409
    assert json.loads(during[2])["code"] == "run_under_way_wait"


def finish(server: RunningServer, run: str) -> str:
    """An experiment that has ended with that run; the big screen's key."""
    operator(server, "POST", "/api/room", {**OPENING, "run": run}, expected=201)
    result = {
        "verdict": VERDICT,
        "downloads": [
            {"name": "report.html", "url": f"/api/runs/{run}/report"},
            {"name": "export.zip", "url": f"/api/runs/{run}/export.zip"},
            {"name": "other", "url": f"/api/runs/{OTHER}/report"},
        ],
    }
    operator(server, "POST", f"/api/room/finish?run={run}", result)
    return str(operator(server, "GET", "/api/room")["screen_url"].partition("key=")[2])


@pytest.mark.slow
def test_whoever_has_the_screens_link_takes_away_what_it_offers(server: RunningServer) -> None:
    key = finish(server, PHONES)
    screen: dict[str, Any] = server.request("GET", f"/api/screen?key={key}", token="")[1]
    offered = [each["url"] for each in screen["result"]["downloads"]]

    report, export = (fetch(server, url, token="") for url in offered)

    assert (report[0], report[1]["Content-Security-Policy"]) == (200, SANDBOX)
    assert export[0] == 200
    check_export(export[2], PHONES)
    assert not any(OTHER in url for url in offered)
    operator(server, "DELETE", "/api/room")


@pytest.mark.parametrize("name", ["report", "export.zip"])
def test_the_screens_link_opens_nothing_else(server: RunningServer, name: str) -> None:
    key = finish(server, PHONES)

    assert fetch(server, f"/api/runs/{PHONES}/{name}?key={key}", token="")[0] == 401
    assert fetch(server, f"/api/screen/{name}?key={key[:-1]}x", token="")[0] == 403
    assert fetch(server, f"/api/screen/{name}", token="")[0] == 403
    operator(server, "DELETE", "/api/room")
    assert fetch(server, f"/api/screen/{name}?key={key}", token="")[0] == 404
