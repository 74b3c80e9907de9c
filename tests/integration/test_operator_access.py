"""An operator's browser: a link that opens one session, what its cookie may do, and who has to wait."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.lab import descendants_with
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server

PROXY = "127.0.0.9"
FIRST_KEY = "first-key-of-this-test"
HELLO = {"title": "Hello", "body": ""}


@dataclass(slots=True)
class Browser:
    """Keeps cookies, and sends what a page's script sends; never the token."""

    server: RunningServer
    host: str = "127.0.0.1"
    source: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, Morsel[str]] = field(default_factory=dict)

    def ask(
        self, method: str, path: str, body: Any = None, *, script: bool = True, **headers: str
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(
            self.host, self.server.port, timeout=PATIENCE_S, source_address=(self.source, 0)
        )
        sent = {**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if script:
            sent["X-Siar"] = "1"
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{each.key}={each.value}" for each in self.cookies.values())
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            response = connection.getresponse()
            content = response.read()
            for header in response.headers.get_all("Set-Cookie") or []:
                self.cookies |= SimpleCookie(header)
        finally:
            connection.close()
        is_json = "json" in response.headers.get("Content-Type", "")
        return response.status, json.loads(content) if is_json else content.decode()

    def sign_in(self, key: str) -> tuple[int, Any]:
        return self.ask("POST", "/api/sessions", {"key": key})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("operators")
    with running_server(folder, recorder=0, operator_key=FIRST_KEY, host="0.0.0.0") as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture
def browser(server: RunningServer) -> Browser:
    """An operator's browser on the server's machine, signed in."""
    opened = Browser(server)
    assert opened.sign_in(new_key(server))[0] == 201
    return opened


def new_key(server: RunningServer) -> str:
    status, answer = server.request("POST", "/api/links")
    assert status == 201
    return str(answer["url"]).rpartition("key=")[2]


def lan_address() -> str:
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family == socket.AF_INET and not each.address.startswith("127."):
                return each.address
    pytest.skip("this machine has no network but loopback")


def test_the_first_link_opens_one_session(server: RunningServer) -> None:
    first, second = Browser(server), Browser(server, source="127.0.2.1")

    assert first.sign_in(FIRST_KEY)[0] == 201
    assert first.ask("POST", "/api/notifications", HELLO)[0] == 201
    status, answer = second.sign_in(FIRST_KEY)
    assert status == 403
    assert "siar link" in answer["detail"]
    assert not second.cookies


@pytest.mark.slow
def test_a_worker_that_takes_another_s_place_does_not_open_the_first_link_again(tmp_path: Path) -> None:
    with running_server(tmp_path, recorder=0, operator_key=FIRST_KEY) as server:
        old = Browser(server)
        assert old.sign_in(FIRST_KEY)[0] == 201
        workers = descendants_with(server.process.pid, "wsgi:app")
        for worker in workers:
            worker.kill()
        psutil.wait_procs(workers, 10)

        assert Browser(server, source="127.0.2.2").sign_in(FIRST_KEY)[0] == 403
        assert old.ask("GET", "/api/room")[0] == 401, "sessions ended with the worker that knew them"
        assert Browser(server).sign_in(new_key(server))[0] == 201


@pytest.mark.slow
def test_workers_that_begin_with_a_reload_do_not_open_the_first_link_again(tmp_path: Path) -> None:
    """They begin before the old ones end, so that it is not the end of a worker that tells them."""
    with running_server(tmp_path, recorder=0, operator_key=FIRST_KEY) as server:
        assert Browser(server).sign_in(FIRST_KEY)[0] == 201
        old = descendants_with(server.process.pid, "wsgi:app")
        assert old
        server.process.send_signal(signal.SIGHUP)
        _gone, left = psutil.wait_procs(old, 30)
        assert not left, "the old workers would answer in the place of the new ones"

        assert Browser(server, source="127.0.2.3").sign_in(FIRST_KEY)[0] == 403
        assert Browser(server).sign_in(new_key(server))[0] == 201


def test_a_new_link_names_the_host_under_which_it_was_asked_for(server: RunningServer) -> None:
    _status, answer = server.request("POST", "/api/links", headers={"Host": "teacher.local:8080"})

    assert answer["url"].startswith("http://teacher.local:8080/admin?key=")


def test_the_cookie_is_for_this_site_only_and_not_for_scripts(browser: Browser) -> None:
    cookie = browser.cookies["siar_operator"]

    assert cookie["httponly"] is True
    assert cookie["samesite"] == "Strict"
    assert len(cookie.value) >= 22  # 128 bits, six to a character.
    assert cookie["secure"] == ""


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_what_changes_something_by_cookie_needs_the_header_of_our_scripts(
    browser: Browser, method: str
) -> None:
    path = {"POST": "/api/notifications", "DELETE": "/api/room", "PUT": "/api/room/trial"}[method]

    status, answer = browser.ask(method, path, HELLO, script=False)

    assert status == 403
    assert "X-Siar: 1" in answer["detail"]


def test_reading_by_cookie_needs_no_header(browser: Browser) -> None:
    assert browser.ask("GET", "/api/room", script=False)[0] == 200


def test_a_page_of_another_site_is_refused_even_with_cookie_and_header(browser: Browser) -> None:
    status, _ = browser.ask("POST", "/api/notifications", HELLO, Origin="http://evil.example")

    assert status == 403


def test_signing_out_ends_the_session_everywhere(browser: Browser) -> None:
    copied = Browser(browser.server, cookies=dict(browser.cookies))

    assert browser.ask("DELETE", "/api/sessions", script=False)[0] == 403
    assert browser.ask("DELETE", "/api/sessions")[0] == 200

    assert browser.cookies["siar_operator"].value == ""
    assert copied.ask("GET", "/api/room")[0] == 401
    assert browser.ask("DELETE", "/api/sessions")[0] == 200


def test_a_script_may_trade_its_token_for_a_session(server: RunningServer) -> None:
    opened = Browser(server)

    status, _ = opened.ask("POST", "/api/sessions", Authorization=f"Bearer {server.admin_token}")

    assert status == 201
    assert opened.ask("GET", "/api/room")[0] == 200


def test_a_wrong_token_opens_no_session(server: RunningServer) -> None:
    opened = Browser(server, source="127.0.3.4")

    assert opened.ask("POST", "/api/sessions", Authorization="Bearer wrong")[0] == 401
    assert not opened.cookies


def test_after_five_wrong_links_an_address_waits_and_says_how_long(server: RunningServer) -> None:
    guesser = Browser(server, source="127.0.3.1")

    answers = [guesser.sign_in(f"guess {number}")[0] for number in range(5)]
    status, answer = guesser.sign_in("guess 5")

    assert answers == [403] * 5
    assert status == 429
    assert "try again in" in answer["detail"]
    assert Browser(server).sign_in("guess 6")[0] == 403, "others do not wait"
    assert Browser(server, source="127.0.3.1").sign_in(new_key(server))[0] == 201, "nor does who has a link"


def test_after_five_wrong_tokens_the_right_one_waits_too(server: RunningServer) -> None:
    def publish(token: str) -> int:
        return server.request("POST", "/api/notifications", HELLO, token=token, source="127.0.3.2")[0]

    assert [publish("wrong") for _ in range(5)] == [401] * 5
    assert publish(server.admin_token) == 429


def test_a_browser_with_a_session_of_an_earlier_start_is_not_taken_for_a_guesser(
    server: RunningServer,
) -> None:
    old = Browser(server, source="127.0.3.3", headers={"Cookie": "siar_operator=of-an-earlier-start"})

    assert [old.ask("GET", "/api/room")[0] for _ in range(8)] == [401] * 8
    assert old.sign_in(new_key(server))[0] == 201


def test_this_machine_may_sign_in_by_its_own_lan_address(server: RunningServer) -> None:
    address = lan_address()

    assert Browser(server, host=address, source=address).sign_in(new_key(server))[0] == 201


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server behind a proxy, which is the address 127.0.0.9."""
    with running_server(tmp_path_factory.mktemp("proxied"), recorder=0, trusted_proxies=PROXY) as running:
        yield running


def behind_proxy(server: RunningServer, address: str, scheme: str = "http") -> Browser:
    """A browser elsewhere, whose requests the proxy passes on."""
    headers = {"X-Forwarded-For": address, "X-Forwarded-Proto": scheme}
    return Browser(server, source=PROXY, headers=headers)


def test_from_another_machine_signing_in_needs_https(proxied: RunningServer) -> None:
    key = new_key(proxied)

    status, answer = behind_proxy(proxied, "192.168.1.7").sign_in(key)
    assert status == 403
    assert "HTTPS" in answer["detail"]
    assert "SIAR_ADMIN_OVER_HTTP=1" in answer["detail"]

    over_https = behind_proxy(proxied, "192.168.1.7", "https")
    assert over_https.sign_in(key)[0] == 201
    assert over_https.cookies["siar_operator"]["secure"] is True
    assert over_https.ask("GET", "/api/room")[0] == 200
    assert over_https.ask("GET", "/api/room", X_Forwarded_Proto="http")[0] == 401


def test_what_strangers_say_of_themselves_is_not_believed(proxied: RunningServer) -> None:
    claims = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"}
    stranger = Browser(proxied, source="127.0.0.1", headers=claims)

    assert stranger.sign_in(new_key(proxied))[0] == 403
    assert stranger.ask("GET", "/metrics")[0] == 401, "behind proxies loopback is no exception"


def test_guessers_behind_one_proxy_wait_each_for_themselves(proxied: RunningServer) -> None:
    for number in range(5):
        behind_proxy(proxied, "192.168.1.66", "https").sign_in(f"guess {number}")

    assert behind_proxy(proxied, "192.168.1.66", "https").sign_in("again")[0] == 429
    assert behind_proxy(proxied, "192.168.1.67", "https").sign_in(new_key(proxied))[0] == 201
