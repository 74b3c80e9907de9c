"""Reports as pages: one for each kind of result, of synthetic runs, and the page of a load run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.lab.analysis.analyse import analyse
from app.lab.report.renderers.html import report_html
from app.tools.load.page import load_html
from tests.browser.cdp import Browser
from tests.browser.devices import DESK, LANGUAGES, PIXEL, SMALL, new_device
from tests.browser.gallery import Gallery
from tests.browser.inspector import Inspector
from tests.unit.load_lines import a_floor, a_line, a_result
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_headline import CASES

SCREENS = (SMALL, PIXEL, DESK)

RESULTS = {
    "decided": "a is lower everywhere",
    "undecided": "not decided",
    "invalid": "invalid",
    "stopped": "stopped early",
    "mixed": "mixed",
    "lost": "one arm loses",
    "three-arms": "three arms",
}
"""Scenes by name, each with the case of `test_headline.py`."""


def show_reports(
    browser: Browser,
    gallery: Gallery | Inspector,
    folder: Path,
    languages: Sequence[str] = LANGUAGES,
) -> None:
    """Take every report; `folder` is for the files."""
    for scene, language, path in written(folder, languages):
        page = new_device(browser, DESK, language=language)
        page.go(path.as_uri())
        gallery.take(page, scene, language=language, screens=SCREENS)
        page.close()


def written(folder: Path, languages: Sequence[str] = LANGUAGES) -> Iterator[tuple[str, str, Path]]:
    """Write every report into a folder; yield scene, language and file of each."""
    for language in languages:
        for name, case in RESULTS.items():
            maker, arguments, *_ = CASES[case]
            path = folder / f"report-{name}.{language}.html"
            text = report_html(analyse(maker.run(**arguments)), language)  # type: ignore[arg-type]
            path.write_text(text, encoding="utf-8")
            yield f"report-{name}", language, path
        path = folder / f"load.{language}.html"
        analysis = analyse(RunMaker(plan=a_plan(blocks=1, client_counts=(2,), notifications=5)).run())
        result = a_result(folder, [a_line(), a_line(users=20, lost=1), a_floor()])
        path.write_text(load_html(analysis, result, language), encoding="utf-8")
        yield "load", language, path
