"""The pages below `/siar/`, behind a real nginx, in real Chromium: nothing that they ask for is beside the prefix."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.browser.cdp import Browser, Page
from tests.browser.test_page import start, stop
from tests.support.nginx import nginx_below_a_prefix
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("prefix")
    with running_server(
        folder, prefix="/siar", trusted_proxies="127.0.0.1", admin_over_http=1, operator_key="k" * 22
    ) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture(scope="module")
def url(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the service, with the slash at its end."""
    with nginx_below_a_prefix(tmp_path_factory.mktemp("nginx"), server.port, strips=True) as port:
        yield f"http://127.0.0.1:{port}/siar/"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    browser.events.clear()
    opened = browser.new_page(alone=True)
    yield opened
    opened.close()


def paths_beside_the_prefix(browser: Browser, url: str) -> list[str]:
    """Requests at nginx that are not below the prefix."""
    asked = [urlsplit(each) for each in browser.requested_urls()]
    here = [each.path for each in asked if each.netloc == urlsplit(url).netloc]
    assert here
    return [path for path in here if not path.startswith("/siar/")]


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_the_phone_page_receives(
    browser: Browser, page: Page, url: str, server: RunningServer, transport: str
) -> None:
    page.go(f"{url}?lang=en")
    page.wait_for("globalThis.siar !== undefined && !document.querySelector('#toggle').disabled")
    start(page, transport)
    server.publish(title="Below", body="the prefix")
    page.wait_for(f"siar.worker.tallies.{transport}.received_count === 1")
    page.wait_for("document.querySelector('#newest h3').innerText === 'Below'")
    page.wait_for("siar.worker.outbox.waiting_count === 0 && siar.worker.outbox.sent_count > 0")
    cookie = browser.call("Storage.getCookies", browserContextId=page.context)["cookies"]
    stop(page)

    assert paths_beside_the_prefix(browser, url) == []
    assert {each["path"] for each in cookie} == {"/siar/"}


def test_the_operator_signs_in_by_the_link_and_stays_signed_in(
    browser: Browser, page: Page, url: str, server: RunningServer
) -> None:
    _status, link = server.request("POST", "/siar/api/links", {})
    key = link["url"].split("?")[1]
    page.go(f"{url}admin?lang=en&{key}")
    page.wait_for("document.querySelector('#desk')?.hidden === false")
    page.call("Page.reload")
    page.wait_for("document.querySelector('#desk')?.hidden === false")
    curl = page.evaluate("document.querySelector('#curl').textContent")

    assert f"curl {url}api/notifications" in curl
    assert paths_beside_the_prefix(browser, url) == []


def test_the_service_worker_opens_the_phone_page(browser: Browser, page: Page, url: str) -> None:
    parts = urlsplit(url)
    browser.call(
        "Browser.grantPermissions",
        origin=f"{parts.scheme}://{parts.netloc}",
        permissions=["notifications"],
        browserContextId=page.context,
    )
    page.go(f"{url}?lang=en")
    page.wait_for("globalThis.siar !== undefined")
    scope = page.evaluate(
        "import('/siar/static/js/notices.js').then(async ({ Notices }) => {"
        " await new Notices(globalThis, () => {}).turnOn({ id: 'a', title: 'b', body: 'c' });"
        " return (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope); })"
    )

    assert scope == [f"{url}static/js/notices/"]
