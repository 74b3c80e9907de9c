"""Each file of each page does not come once, in three ways, and the page says so: it neither loads nor starts for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from app.tools.calibrate.tcp_proxy import Chunk, TcpProxy
from tests.browser.cdp import Browser, Page
from tests.browser.conductor import Conductor
from tests.integration.test_result_pages import KEY, RESULT, RUN
from tests.support.proxy import held
from tests.support.server import ROOT, RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

INSTEAD = {
    "missing": "/static/js/not.js",
    "reset": "",
    "page": "/screen",
    "other": "/static/js/loading.js",
}
"""What comes instead: 404; a reset; a page with status 200, as of a hotel's network; a script without what is imported."""

TELLS_OF_LOADING = "!(document.querySelector('#load-failed')?.hidden ?? true)"

TELLS_OF_STARTING = "document.querySelector('#problems .problem') !== null"

ELSEWHERE = {
    "loading.js": "is part of each page",
    "notices.js": "test_notices.py",
    "notices/service_worker.js": "test_notices.py",
    "result_view.js": "in the room its link is there, and it is tried again; on its own page it is among these",
}


class Spoiler:
    """Way to the server that spoils the requests for one file, and notes the files that are asked for."""

    def __init__(self) -> None:
        self.file = ""
        self.way = ""
        self.asked: dict[str, None] = {}
        """Files in the order of the first request."""

    def __call__(self, chunks: Iterator[Chunk]) -> Iterator[bytes]:
        """Pass on requests; each comes in a read of its own."""
        for chunk in chunks:
            words = chunk.data.partition(b"\r\n")[0].split(b" ")
            path = words[1].decode() if len(words) == 3 else ""
            if path.endswith(".js"):
                self.asked[path] = None
            if path != self.file or not path:
                yield chunk.data
            elif self.way == "reset":
                raise ConnectionResetError
            else:
                yield chunk.data.replace(path.encode(), INSTEAD[self.way].encode(), 1)


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that makes a page load files."""

    path: str
    do: Callable[[Page], None]
    """After the page has loaded."""
    done: str
    """Holds once it has worked."""
    tells: str
    """Holds once the page tells that it has not."""


def press_start(choice: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        page.click(f"[value={choice}]")
        page.click("#toggle")

    return press


def press_join(page: Page) -> None:
    page.wait_for("document.querySelector('#room')?.dataset.step === 'join'")
    page.click("#join-button")


def nothing(_page: Page) -> None:
    """What only loads."""


def loaded(name: str) -> str:
    return f"globalThis.{name} !== undefined"


IS_RECEIVING = "siar.worker?.phase === 'receiving' && siar.worker.clock.state === 'ok'"

DEEDS: dict[str, list[Deed]] = {
    "phone": [
        Deed("/", nothing, loaded("siar"), TELLS_OF_LOADING),
        Deed("/", press_start("sse"), IS_RECEIVING, TELLS_OF_STARTING),
        Deed("/", press_start("socketio"), IS_RECEIVING, TELLS_OF_STARTING),
        Deed("/", press_join, "siar.room?.isReady", TELLS_OF_STARTING),
    ],
    "admin": [Deed("/admin", nothing, loaded("siarAdmin"), TELLS_OF_LOADING)],
    "screen": [Deed("/screen", nothing, loaded("siarScreen"), TELLS_OF_LOADING)],
    "selftest": [
        Deed("/selftest", nothing, loaded("siarSelfTest"), TELLS_OF_LOADING),
    ],
    "result": [
        Deed(f"/results/{RUN}/{KEY}", nothing, "document.querySelector('#who').innerText", TELLS_OF_LOADING)
    ],
}


ENTRIES = {
    "phone": "/static/js/page.js",
    "admin": "/static/js/admin/page.js",
    "screen": "/static/js/screen/page.js",
    "selftest": "/static/js/selftest/page.js",
    "result": "/static/js/result_page.js",
}


def put_a_result(server: RunningServer) -> None:
    """A phone's result, for its page."""
    results = server.runs_dir / RUN / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{KEY}.json").write_text(json.dumps(RESULT))


@pytest.fixture(scope="module")
def seen() -> Iterator[dict[str, set[str]]]:
    """Files that were spoilt, by page; with all pages, these must be all files that there are."""
    found: dict[str, set[str]] = {}
    yield found
    folder = ROOT / "static" / "js"
    ours = {f"/static/js/{path.relative_to(folder)}" for path in folder.rglob("*.js")}
    elsewhere = {f"/static/js/{name}" for name in ELSEWHERE}
    never = {path for path in ours if path.endswith("types.js")}
    if found.keys() == DEEDS.keys():
        assert ours - set().union(*found.values()) - elsewhere - never == set()


@pytest.mark.parametrize("language", ["en", "id"])
@pytest.mark.parametrize("name", DEEDS)
def test_a_page_tells_in_the_readers_language_that_its_script_does_not_come(
    browser: Browser, server: RunningServer, name: str, language: str
) -> None:
    put_a_result(server)
    spoiler = Spoiler()
    with TcpProxy("127.0.0.1", server.port, to_server=spoiler) as proxy:
        page = browser.new_page(alone=True)
        url = f"{proxy.url}{DEEDS[name][0].path}?lang={language}"
        page.go(url)
        page.wait_for(DEEDS[name][0].done)
        [spoiler.file] = [file for file in spoiler.asked if file == ENTRIES[name]]
        spoiler.way = "missing"
        page.go(url)
        page.wait_for(TELLS_OF_LOADING)
        said = page.text("#load-failed")
        page.close()

    words = (ROOT / "static" / "i18n" / language / "page.json").read_text(encoding="utf-8")
    assert said == json.loads(words)["page.load_failed"]


def test_a_page_whose_files_come_late_says_so_until_they_are_there(
    browser: Browser, server: RunningServer
) -> None:
    may_pass = threading.Event()
    with TcpProxy("127.0.0.1", server.port, to_server=held(may_pass, line=b"/static/js/words.js")) as proxy:
        page = browser.new_page(alone=True)
        page.call("Page.navigate", url=proxy.url)
        page.wait_for(TELLS_OF_LOADING)
        may_pass.set()
        page.wait_for("globalThis.siar !== undefined && document.querySelector('#load-failed').hidden")
        page.close()


@pytest.mark.nightly
@pytest.mark.parametrize("name", DEEDS)
def test_a_page_tells_of_each_file_that_does_not_come(
    browser: Browser, server: RunningServer, seen: dict[str, set[str]], name: str
) -> None:
    put_a_result(server)
    Conductor(server).open(wanted_count=2)
    spoiler = Spoiler()
    silent = []
    with TcpProxy("127.0.0.1", server.port, to_server=spoiler) as proxy:

        def attempt(deed: Deed, awaited: str) -> bool:
            page = browser.new_page(alone=True)
            try:
                page.go(f"{proxy.url}{deed.path}")
                if deed.tells != TELLS_OF_LOADING:
                    page.wait_for(
                        "globalThis.siar !== undefined && !document.querySelector('#toggle').disabled"
                    )
                deed.do(page)
                page.wait_for(awaited, 20)
                return not page.evaluate(deed.done if awaited == deed.tells else deed.tells)
            except AssertionError as error:
                print(error)
                return False
            finally:
                page.close()

        spoilt: set[str] = set()
        for deed in DEEDS[name]:
            spoiler.file, spoiler.asked = "", {}
            assert attempt(deed, deed.done), (deed, "with all files there")
            files = [file for file in spoiler.asked if file not in spoilt]
            # What is loaded later is not linked: another script is noticed when something of it is used.
            ways = list(INSTEAD)[: 4 if deed.tells == TELLS_OF_LOADING else 3]
            for number, file in enumerate(files):
                spoiler.file, spoiler.way = file, ways[number % len(ways)]
                if not attempt(deed, deed.tells):
                    silent.append((deed.path, file, spoiler.way))
            spoilt.update(files)
    seen[name] = spoilt
    assert silent == []
