"""Whatever somebody writes into a link that others follow: pages take it for text, and stay within a small phone."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.browser import hostile
from tests.browser.cdp import Browser, Page
from tests.browser.devices import SMALL, new_device, overflow_px
from tests.browser.guests import open_room
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ADDRESS_CHARS_MAX = 200
"""Of each text: with three to twelve characters for each of them, an address stays one that the server reads."""

RUNS = f"globalThis.{hostile.MARK}=1"

TEXTS = {
    **hostile.TEXTS,
    "attribute": f'" autofocus onfocus={RUNS} x="',
    "end_of_script": f"</title></script><script>{RUNS}</script>",
    "end_of_config": f'"}}</script><img src=x onerror={RUNS}>',
    "javascript": f"javascript:{RUNS}",
    "dialog": "<script>alert(1)</script><svg/onload=alert(2)>",
    "encoded_twice": quote(f"<script>{RUNS}</script>"),
    "template": "{{ 6 * 7 }}{% for each in config %}{{ each }}{% endfor %}",
    "places": "{t}{0}{language}%s%(key)s${6*7}",
}
"""By what each tries."""

JOINS = "globalThis.siar !== undefined && document.querySelector('#room').dataset.step === 'join'"
REFUSES = "performance.getEntriesByType('navigation')[0].responseStatus >= 400"

PLACES = {
    "code": ("/?lang=en&code={}", JOINS),
    "language": ("/?lang={}", JOINS),
    "screen_key": ("/screen?lang=en&key={}", "globalThis.siarScreen?.problem === 'bad_link'"),
    "path": ("/{}", REFUSES),
    "run": ("/results/{}/" + "k" * 22, REFUSES),
    "result_key": ("/results/run-1/{}", REFUSES),
}
"""By what of an address others may set: the address, and what holds once its page shows what it makes of it."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose room asks for a code, so that the phone page has a field for the one in the address."""
    with running_server(tmp_path_factory.mktemp("addresses"), join_code="1") as running:
        open_room(running)
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    browser.events.clear()
    page = new_device(browser, SMALL)
    yield page
    page.close()


def said_by_dialogs(browser: Browser) -> list[str]:
    return [
        event.params["message"] for event in browser.events if event.method == "Page.javascriptDialogOpening"
    ]


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_text_in_an_address_runs_nowhere_and_widens_no_page(
    phone: Page, browser: Browser, server: RunningServer, place: str
) -> None:
    address, is_shown = PLACES[place]
    for name, text in TEXTS.items():
        phone.go(server.url + address.format(quote(text[:ADDRESS_CHARS_MAX], safe="")))
        phone.wait_for(is_shown)

        assert not hostile.ran(phone), name
        assert hostile.made_elements(phone) == [], name
        assert overflow_px(phone) == 0, name

    assert hostile.policy_violations(browser) == []
    assert said_by_dialogs(browser) == []


def test_a_code_in_the_address_comes_as_it_is_into_the_field_that_asks_for_it(
    phone: Page, server: RunningServer
) -> None:
    """So that the test above does not only see texts that got lost on their way."""
    phone.go(f"{server.url}/?lang=en&code={quote(TEXTS['attribute'], safe='')}")
    phone.wait_for(JOINS)

    assert phone.evaluate("document.querySelector('#join-code').value") == TEXTS["attribute"]
    assert phone.evaluate("document.querySelector('#join-code-field').hidden") is False
