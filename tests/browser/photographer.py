"""Plays a small classroom and photographs it: what is seen when, by whom, through which screens.

    closed -> gathering -> countdown -> running -> paused (bands) -> finished -> server gone

Phones, the operator and the big screen are there twice, for one language each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.browser.cdp import Browser, Page
from tests.browser.classroom import IS_READY, STEP, Classroom, join, phone
from tests.browser.devices import DESK, LANGUAGES, PIXEL, PROJECTOR, SMALL, Screen, new_device
from tests.browser.gallery import Gallery
from tests.browser.guests import operator_link, screen_url
from tests.browser.inspector import Inspector
from tests.support.server import RunningServer, stop

PLAN: dict[str, Any] = {
    "arms": ["sse", "socketio"],
    "client_counts": [1, 3, 6],
    "blocks": 2,
    "notifications": 40,
    "warmup_notifications": 5,
    "rate_hz": 10.0,
    "idle_s": 0.5,
    "settle_s": 1.0,
    "drain_s": 2.0,
    "extra_blocks_max": 6,
}
"""Trials of some seconds, in which there is time to look, and which looking makes void: as many blocks more."""

PHONE = (SMALL, PIXEL)
OPERATOR = (SMALL, DESK)
BIG = (SMALL, DESK, PROJECTOR)

NAMES = ("Red Gecko", "", "Blue Heron", "", "", "")
"""Empty: the friendly one that the server proposes."""


class Photographer:
    """One play, from an empty room to a server that is gone."""

    def __init__(
        self, browser: Browser, server: RunningServer, gallery: Gallery | Inspector, *, site: str
    ) -> None:
        """`site`: under which address the pages are opened."""
        self._browser = browser
        self._server = server
        self._gallery = gallery
        self._site = site
        self._room = Classroom(server)
        self._phones: list[Page] = []
        self._operators: dict[str, Page] = {}
        self._screens: dict[str, Page] = {}

    def play(self) -> None:
        """All of it."""
        self._before()
        self._gathering()
        self._countdown()
        self._running()
        self._paused()
        self._finished()
        self._gone()

    def _before(self) -> None:
        for language in LANGUAGES:
            self._operators[language] = self._open(f"{self._site}/admin?lang={language}", DESK, language)
            self._screens[language] = self._open(
                self._seen(screen_url(self._server, language)), PROJECTOR, language
            )
        self._take_operators("admin-sign-in")
        for language, page in self._operators.items():
            page.go(f"{self._seen(operator_link(self._server))}&lang={language}")
            page.wait_for("!document.querySelector('#desk').hidden")
        self._take_operators("admin-new")
        for page in self._operators.values():
            page.click("#fields > summary")
            page.evaluate("document.querySelector('[name=arms]').value = 'compression'")
        self._take_operators("admin-plan")
        for page in self._operators.values():
            page.evaluate("document.querySelector('[name=arms]').value = 'both'")
            page.click("#fields > summary")
        self._take_screens("screen-closed")
        self._listening()
        self._self_test()

    def _self_test(self) -> None:
        for language in LANGUAGES:
            page = self._open(f"{self._site}/selftest?lang={language}", PIXEL, language)
            page.wait_for("globalThis.siarSelfTest !== undefined")
            self._take(page, "selftest-begin", language, PHONE)
            for step, act in (("qr", "yes"), ("sse", "start")):
                page.click(f"[data-key={step}] [data-part={act}]")
            page.wait_for("document.querySelector('[data-key=receive]').ariaCurrent === 'step'")
            page.click("[data-key=receive] [data-part=start]")
            self._take(page, "selftest-under-way", language, PHONE)
            page.click("[data-key=receive] [data-part=no]")
            self._until_answered(language)
            page.close()
        for page in self._operators.values():
            page.click("#self-tests-details > summary")
            page.wait_for(f"document.querySelectorAll('#self-tests > li').length === {len(LANGUAGES)}")
            page.click("#self-tests details > summary")
        self._take_operators("admin-self-tests")
        for page in self._operators.values():
            page.click("#self-tests-details > summary")

    def _until_answered(self, language: str) -> None:
        """Until the server has it from who reads this language that no notification came."""

        def is_there() -> bool:
            records = self._server.request("GET", "/api/selftests")[1]["records"]
            steps = [step for each in records if each["language"] == language for step in each["steps"]]
            return any((each["step"], each["state"]) == ("receive", "failed") for each in steps)

        self._browser.wait(is_there, "its answers are at the server")

    def _listening(self) -> None:
        for language in LANGUAGES:
            page = self._open(f"{self._site}/?lang={language}", PIXEL, language)
            page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
            self._take(page, "phone-alone", language, PHONE)
            page.click("#toggle")
            page.wait_for("siar.worker?.phase === 'receiving' && siar.worker.clock.state === 'ok'")
            for number in range(3):
                self._server.publish(title=f"Lunch at {12 + number}", body="In the courtyard.", topic="lunch")
            page.wait_for("siar.worker.tallies.sse.received_count === 3")
            self._take(page, "phone-listening", language, PHONE)
            page.close()

    def _gathering(self) -> None:
        self._room.open(PLAN, phones=len(NAMES))
        code = str(self._room.room()["join_code"])
        self._phones = [
            phone(self._browser, self._site, code=code, language=LANGUAGES[number % 2])
            for number in range(len(NAMES))
        ]
        self._take_phones("phone-join")
        for page, name in list(zip(self._phones, NAMES, strict=True))[:-1]:
            join(page, name)
        self._room.wait(self._are_ready, "all but one are ready", timeout_s=300)
        self._take_phones("phone-lobby")
        self._take_screens("screen-lobby")
        self._take_operators("admin-lobby")

    def _are_ready(self, room: dict[str, Any]) -> bool:
        """Whether all but the last are, after another look where a busy machine failed a check."""
        for page in self._phones[:-1]:
            page.evaluate(IS_READY)
        return bool(room["ready_count"] == len(NAMES) - 1)

    def _countdown(self) -> None:
        join(self._phones[-1], NAMES[-1])
        self._room.wait_for_phase("countdown", "running", browsers=[self._browser])
        self._until("countdown", "round", "between")
        self._take(self._phones[0], "phone-countdown", LANGUAGES[0], (PIXEL,), ("light",))
        self._take(self._screens["en"], "screen-countdown", "en", (PROJECTOR,), ("light",))

    def _running(self) -> None:
        self._wait_for_trial(len(NAMES))
        for page in self._phones[: len(LANGUAGES)]:
            page.wait_for("Number(document.querySelector('#big-figure').innerText) > 0")
        self._take_phones("phone-round")
        self._wait_for_trial(len(NAMES))
        self._take_screens("screen-round")
        self._take_operators("admin-round")

    def _until(self, *steps: str) -> None:
        """Until the phones that are photographed have heard that it is so."""
        for page in self._phones[: len(LANGUAGES)]:
            page.wait_for(f"{list(steps)}.includes({STEP})")

    def _wait_for_trial(self, clients: int) -> None:
        def is_on(room: dict[str, Any]) -> bool:
            trial = room["trial"] or {}
            return trial.get("state") == "running" and trial.get("clients") == clients

        self._room.wait(is_on, f"a round with {clients}", timeout_s=180, browsers=[self._browser])

    def _paused(self) -> None:
        self._operate("pause")
        self._room.wait_for_phase("paused", timeout_s=60, browsers=[self._browser])
        self._until("paused")
        self._take_phones("phone-paused")
        self._take_screens("screen-paused")
        self._take_operators("admin-paused")
        self._operate("resume")

    def _operate(self, action: str) -> None:
        status, answer = self._server.request("POST", f"/api/runs/{self._room.run}/{action}")
        assert status == 202, answer

    def _finished(self) -> None:
        self._room.wait_for_phase("finished", timeout_s=600, browsers=[self._browser])
        for page in self._phones:
            page.wait_for(f"{STEP} === 'finished' && !document.querySelector('#result-link').hidden", 20)
        for page in self._screens.values():
            page.wait_for("siarScreen.room.phase === 'finished'")
        self._take_phones("phone-finished")
        self._take_screens("screen-finished")
        self._take_operators("admin-finished")
        for page, language in zip(self._phones, LANGUAGES, strict=False):
            address = page.evaluate("document.querySelector('#result-link').href")
            result = self._open(address, PIXEL, language)
            result.wait_for("document.querySelector('main').innerText.length > 100")
            self._take(result, "result", language, PHONE)
            result.close()

    def _gone(self) -> None:
        stop(self._server.process)
        self._screens["en"].wait_for("document.querySelector('#problem').innerText !== ''", 30)
        self._take_screens("screen-server-away")
        self._take_operators("admin-server-away")
        self._take_phones("phone-server-away")

    def _seen(self, url: str) -> str:
        """An address of the server as the pages' people see it."""
        return url.replace(self._server.url, self._site)

    def _open(self, url: str, screen: Screen, language: str) -> Page:
        page = new_device(self._browser, screen, language=language)
        page.go(url)
        page.wait_for("document.fonts.ready.then(() => true)")
        return page

    def _take_phones(self, scene: str) -> None:
        for page, language in zip(self._phones, LANGUAGES, strict=False):
            self._take(page, scene, language, PHONE)

    def _take_operators(self, scene: str) -> None:
        for language, page in self._operators.items():
            self._take(page, scene, language, OPERATOR)

    def _take_screens(self, scene: str) -> None:
        for language, page in self._screens.items():
            self._take(page, scene, language, BIG)

    def _take(
        self,
        page: Page,
        scene: str,
        language: str,
        screens: Sequence[Screen],
        schemes: Sequence[str] = ("light", "dark"),
    ) -> None:
        self._gallery.take(page, scene, language=language, screens=screens, schemes=schemes)
