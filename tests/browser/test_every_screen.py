"""Every screen of a whole classroom, in both languages and both schemes: usable by all, and no wider than the glass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.axe import axe_source
from tests.browser.cdp import running_browser
from tests.browser.inspector import Inspector
from tests.browser.photographer import Photographer
from tests.components import require_chromium
from tests.support.server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.nightly, pytest.mark.alone]


def test_axe_finds_nothing_all_fits_and_thumbs_hit_on_any_screen_of_a_classroom(tmp_path: Path) -> None:
    inspector = Inspector(axe_source())

    with running_browser(require_chromium()) as browser, running_server(tmp_path, join_code="1") as server:
        Photographer(browser, server, inspector, site=server.url).play()

    assert {
        "phone-join",
        "selftest-under-way",
        "phone-finished",
        "screen-lobby",
        "screen-finished",
        "admin-new",
        "admin-plan",
        "admin-self-tests",
    } <= inspector.scenes
    assert inspector.wrong == []
