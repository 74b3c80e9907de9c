"""Pictures are taken as `python -m tests.tools.screens` takes them: for the README, and of every screen with a page of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.cdp import Page
from tests.browser.devices import PROJECTOR, SCHEMES
from tests.browser.gallery import README_SCENES, README_WIDTH_PX_MAX, Gallery, ReadmePictures, contact_sheet
from tests.browser.test_screen import is_shown, open_screen
from tests.support.readme import PAGES, links
from tests.support.stage import GOOD, Stage
from tests.tools.screens import DOCS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_scene_of_readme_and_docs_has_its_picture_there() -> None:
    shown = {
        (page.parent / link).resolve() for page in PAGES for link in links(page) if link.endswith(".webp")
    }

    for name, _screen in README_SCENES.values():
        path = DOCS / f"{name}.webp"
        assert path.is_file()
        assert path in shown


def test_the_readme_s_picture_of_the_lobby_is_taken_and_is_no_wider_than_the_readme(
    page: Page, stage: Stage, tmp_path: Path
) -> None:
    stage.open(wanted_count=3)
    stage.join("Red Gecko", **GOOD)
    open_screen(page, stage)
    is_shown(page, "lobby")
    gallery = ReadmePictures(tmp_path)

    for scene, language in (("screen-lobby", "en"), ("screen-lobby", "id"), ("nothing-of-it", "en")):
        gallery.take(page, scene, language=language, screens=[PROJECTOR])

    assert [path.name for path in gallery.taken] == ["lobby.webp"]
    content = gallery.taken[0].read_bytes()
    assert (content[:4], content[8:12]) == (b"RIFF", b"WEBP")
    assert page.evaluate("innerWidth * devicePixelRatio") <= README_WIDTH_PX_MAX


def test_a_screen_is_photographed_in_both_schemes_and_the_page_of_all_shows_each(
    page: Page, stage: Stage, tmp_path: Path
) -> None:
    stage.open(wanted_count=3)
    open_screen(page, stage)
    is_shown(page, "lobby")
    gallery = Gallery(tmp_path)

    gallery.take(page, "screen-lobby", language="en", screens=[PROJECTOR])

    assert [path.name for path in gallery.taken] == [
        f"screen-lobby.en.{scheme}.projector.png" for scheme in SCHEMES
    ]
    light, dark = (path.read_bytes() for path in gallery.taken)
    assert (light[:4], dark[:4]) == (b"\x89PNG", b"\x89PNG")
    assert light != dark
    sheet = contact_sheet(gallery.taken)
    assert all(f'src="{path.name}"' in sheet for path in gallery.taken)
