"""Headless Chromium over its DevTools protocol: as much of it as the tests need, on one thread.

Every answer and event comes in through `take_in`, in the order of the wire. The tabs that a test opens, and their
workers, are listened to before they run, so that no request of theirs goes unseen; what else the browser has (its own
address bar is a page too) is none of ours.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.browser.events import Event, complaint, troubles

START_TIMEOUT_S = 180.0

WAIT_TIMEOUT_S = 180.0
"""What is waited for comes at once on a quiet machine; a busy one must not fail a test."""

POLL_S = 0.05

FACTS = """(async () => ({
  address: location.href,
  visibility: document.visibilityState,
  is_drawn: await Promise.race([
    new Promise((resolve) => requestAnimationFrame(() => resolve(true))),
    new Promise((resolve) => setTimeout(() => resolve(false), 5000)),
  ]),
  state: JSON.stringify(globalThis.siar ?? null).slice(0, 2000),
  text: document.body.innerText.slice(0, 500),
}))()"""
"""Of any page of ours. `is_drawn`: whether frames come, without which nothing that it shows changes."""

GONE = ("navigated or closed", "Execution context was destroyed", "Cannot find context")
"""What the browser says of a question to a page that another one has taken the place of."""

FLAGS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",  # the tests may run as root, where the sandbox refuses to start
    "--no-first-run",
    "--disable-background-networking",
    # Each phone has a window of its own: none is behind another one, and none is thought to hang on a busy machine.
    "--disable-backgrounding-occluded-windows",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-hang-monitor",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--mute-audio",
)


@dataclass(slots=True)
class Page:
    """A tab."""

    browser: Browser
    target: str
    session: str
    context: str | None = None
    """Its browser context, where it has one of its own."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command to this tab; its result. Raises `AssertionError` with the browser's words."""
        return self.browser.call(method, session=self.session, **params)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited when it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def evaluate_in_worker(self, expression: str) -> Any:
        """The value of an expression in this tab's newest worker that still runs."""
        answer = self.browser.call(
            "Runtime.evaluate",
            session=self.browser.workers(self)[-1],
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element that matches."""
        found = self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return str(found)

    def click(self, selector: str) -> None:
        """Click the first element that matches."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def wait_for(self, expression: str, timeout_s: float = WAIT_TIMEOUT_S) -> Any:
        """The value of an expression as soon as it is truthy. Raises `AssertionError` after `timeout_s`."""
        deadline_s = time.monotonic() + timeout_s
        while not (found := self._look(expression)):
            assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {expression}\n{self._story()}"
            self.browser.take_in(POLL_S)
        return found

    def _story(self) -> str:
        """What the reader of a failed test wants to know of the page."""
        try:
            facts = self.evaluate(FACTS)
        except AssertionError as error:
            facts = f"it does not answer: {error}"
        own = [event for event in self.browser.events if event.session == self.session]
        return "\n".join([str(facts), *troubles(own)])

    def _look(self, expression: str) -> Any:
        """The value, or `None` where the page went away while it was asked: the next one is asked again."""
        try:
            return self.evaluate(expression)
        except AssertionError as error:
            if any(words in str(error) for words in GONE):
                return None
            raise

    def close(self) -> None:
        """Close the tab, and with it its worker; a context of its own goes too, with its cookies and storage."""
        if self.context is None:
            self.browser.call("Target.closeTarget", targetId=self.target)
        else:
            self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    @contextlib.contextmanager
    def put_away(self) -> Iterator[None]:
        """Do to the page what a phone does to one that is put away: hidden, then frozen with its workers.

        It must share its window: the tab in front of it comes without a context of its own.
        """
        in_front = self.browser.new_page()
        self.wait_for("document.visibilityState === 'hidden'")
        self.call("Page.setWebLifecycleState", state="frozen")
        try:
            yield
        finally:
            self.call("Page.setWebLifecycleState", state="active")
            self.call("Page.bringToFront")
            self.wait_for("document.visibilityState === 'visible'")
            in_front.close()

    def before_workers(self, script: str) -> None:
        """Have a script run in each worker of this tab before the worker's own."""
        self.browser.worker_preludes[self.session] = script

    def go(self, url: str) -> None:
        """Open an address and wait until everything that it names is loaded; a page may change its address meanwhile."""
        self.call("Page.navigate", url=url)
        asked_for = "(performance.getEntriesByType('navigation')[0]?.name ?? '')"
        self.wait_for(f"document.readyState === 'complete' && {asked_for}.startsWith({json.dumps(url)})")


@dataclass(slots=True)
class Browser:
    """A running browser with a profile of its own."""

    socket: ClientConnection
    events: list[Event] = field(default_factory=list)
    """Everything that was reported, oldest first."""
    worker_preludes: dict[str, str] = field(default_factory=dict)
    """By the session of the tab: what runs in its workers before their own scripts."""
    prelude: str | None = None
    """What runs in each new tab and its workers before their own scripts."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _answers: dict[int, dict[str, Any]] = field(default_factory=dict)

    def call(self, method: str, *, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command; its result. Raises `AssertionError` with the browser's words."""
        number = self._send(method, params, session)
        self.wait(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def new_page(self, *, alone: bool = False) -> Page:
        """An empty tab in front; `alone` in a context of its own: another person's browser, in front of its own window."""
        context: str | None = None
        wanted: dict[str, Any] = {"url": "about:blank"}
        if alone:
            context = str(self.call("Target.createBrowserContext")["browserContextId"])
            wanted |= {"browserContextId": context, "newWindow": True}
        target = self.call("Target.createTarget", **wanted)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._listen(session)
        page = Page(self, target, session, context)
        for domain in ("Page", "Performance", "Audits"):
            page.call(f"{domain}.enable")
        if self.prelude is not None:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=self.prelude)
            page.before_workers(self.prelude)
        return page

    def wait(self, probe: Callable[[], Any], what: str, timeout_s: float = WAIT_TIMEOUT_S) -> Any:
        """What `probe` returns as soon as it is truthy, reading events meanwhile."""
        deadline_s = time.monotonic() + timeout_s
        while not (found := probe()):
            assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {what}"
            self.take_in(POLL_S)
        return found

    def listen(self) -> None:
        """Take in what has come: new workers wait until somebody has heard of them."""
        before = -1
        while len(self.events) > before:
            before = len(self.events)
            self.take_in(0)

    def requested_urls(self) -> list[str]:
        """Addresses that any page or worker has asked for, WebSockets included."""
        kinds = {"Network.requestWillBeSent": ("request", "url"), "Network.webSocketCreated": ("url",)}
        urls = []
        for event in self.events:
            value: Any = event.params
            for key in kinds.get(event.method, ()):
                value = value[key]
            if event.method in kinds:
                urls.append(value)
        return urls

    def workers(self, page: Page) -> list[str]:
        """Sessions of a tab's workers that run, oldest first."""
        running: list[str] = []
        for event in self.events:
            if event.method == "Target.attachedToTarget" and event.session == page.session:
                running.append(event.params["sessionId"])
            elif event.method == "Target.detachedFromTarget" and event.params["sessionId"] in running:
                running.remove(event.params["sessionId"])
        return running

    def complaints(self) -> list[str]:
        """Errors and warnings of console and log, uncaught exceptions, and issues such as a violated policy."""
        return [text for event in self.events if (text := complaint(event))]

    def _send(self, method: str, params: dict[str, Any], session: str | None) -> int:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        self.socket.send(json.dumps(message if session is None else message | {"sessionId": session}))
        return number

    def take_in(self, timeout_s: float) -> None:
        """Take in one message, if one comes in time."""
        with contextlib.suppress(TimeoutError):
            message = json.loads(self.socket.recv(timeout_s))
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                event = Event(message["method"], message["params"], message.get("sessionId"))
                self.events.append(event)
                # A tab that was attached by hand is reported too, by the browser's own session.
                if event.method == "Target.attachedToTarget" and event.session is not None:
                    self._listen(event.params["sessionId"], self.worker_preludes.get(event.session))

    def _listen(self, session: str, prelude: str | None = None) -> None:
        """Hear of everything that a target does, and of its workers from their first moment."""
        for domain in ("Runtime", "Network", "Log"):
            self._send(f"{domain}.enable", {}, session)
        wanted = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self._send("Target.setAutoAttach", wanted, session)
        if prelude is not None:
            self._send("Runtime.evaluate", {"expression": prelude}, session)
        self._send("Runtime.runIfWaitingForDebugger", {}, session)


@contextlib.contextmanager
def running_browser(path: Path, *flags: str) -> Iterator[Browser]:
    """The headless browser at `path`, ended with the block; its profile is deleted."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [path, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = _debugger_url(Path(profile), process)
            # No pings: a browser that is busy with a picture answers none for longer than a ping may take.
            with connect(url, max_size=None, compression=None, ping_interval=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait(60)


def _debugger_url(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the browser listens: it writes its port and path into its profile."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        with contextlib.suppress(FileNotFoundError, ValueError):
            port, path = (profile / "DevToolsActivePort").read_text().split()
            return f"ws://127.0.0.1:{port}{path}"
        time.sleep(POLL_S)
    raise AssertionError(f"the browser did not listen within {START_TIMEOUT_S} s")
