"""A full server answers, with 503: its pages say so, and not that there is no answer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.cdp import Browser
from tests.browser.classroom import STEP
from tests.browser.conductor import Conductor
from tests.browser.test_page import open_page
from tests.integration.test_ways_to_start import NONE
from tests.support.commands import environment_of
from tests.support.server import ADMIN_TOKEN, RunningServer, free_port, running_server
from tests.support.streams import sse

pytestmark = [pytest.mark.browser, pytest.mark.slow]

IS_FULL = "siar.worker?.problems.includes('server_full')"

BOTH_ARE_FULL = """(() => {
  const { reasons, isChecking } = siar.room ?? {};
  if (reasons?.sse === "full" && reasons.socketio === "full") return true;
  if (reasons?.socketio !== undefined && !isChecking) document.querySelector("#check-again").click();
  return false;
})()"""
"""Whether a phone's checks say so of both; one that a busy machine held up was given up before it had the answer."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("full"), connections_max=1, recorder=0) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.mark.parametrize(
    ("transport", "language", "words"),
    [
        ("sse", "en", "The server is full: it answers, but takes no more connections."),
        ("socketio", "id", "Server penuh: server menjawab, tetapi tidak menerima koneksi lagi."),
    ],
)
def test_the_page_of_a_full_server_says_so_until_there_is_a_place(
    browser: Browser, server: RunningServer, transport: str, language: str, words: str
) -> None:
    with sse(server.port):
        page = open_page(browser, server, language)
        page.click(f"[value={transport}]")
        page.click("#toggle")
        page.wait_for(IS_FULL)
        page.wait_for(f"document.querySelector('#problems').innerText.includes({words!r})")

    page.wait_for("siar.worker.phase === 'receiving'")
    assert page.evaluate("siar.worker.problems") == []
    page.click("#toggle")
    page.wait_for("siar.worker.phase === 'stopped'")
    page.close()


def test_a_phone_s_checks_name_a_full_server(browser: Browser, server: RunningServer) -> None:
    Conductor(server).open(wanted_count=1)
    with sse(server.port):
        page = open_page(browser, server)
        page.wait_for(f"{STEP} === 'join'")
        page.click("#join-button")
        page.wait_for(BOTH_ARE_FULL)
        page.wait_for("document.body.innerText.includes('the server is full')")
    page.close()


@contextlib.contextmanager
def refusing_server(port: int, folder: Path) -> Iterator[None]:
    """A server of ours that answers everything with 503: gunicorn's sync worker, which would block."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "gunicorn", *NONE, "-b", f"127.0.0.1:{port}", "wsgi:app"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment_of(SIAR_ADMIN_TOKEN=ADMIN_TOKEN, SIAR_RUNS_DIR=str(folder / "other")),
        cwd=folder,
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def test_the_big_screen_says_what_a_server_refuses_and_whether_there_is_one(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    with running_server(tmp_path, port=port, recorder=0) as server:
        Conductor(server).open(wanted_count=1)
        page = browser.new_page()
        page.go(f"{server.url}{Conductor(server).room()['screen_url']}&lang=en")
        page.wait_for("globalThis.siarScreen?.room")

    page.wait_for("siarScreen.problem === 'server_away'")
    with refusing_server(port, tmp_path):
        page.wait_for("siarScreen.problem === 'server_refuses'")
        page.wait_for("document.querySelector('#problem').innerText.includes('serves one request at a time')")
    page.wait_for("siarScreen.problem === 'server_away'")
    page.close()
