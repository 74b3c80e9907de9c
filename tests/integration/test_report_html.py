"""The report page: one file, no request to anywhere, well-formed drawings, everything escaped."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from app.core.plan.scenario import Arm
from app.core.trial import RunRecord
from app.i18n import text
from app.lab.analysis.analyse import analyse
from app.lab.report.data.result import result_json
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.report.renderers.html import report_html
from app.lab.studies.published import FAULTS
from tests.unit.support_run import RunMaker, a_plan

RUNS: dict[str, Callable[[], RunRecord]] = {
    "demo": lambda: RunMaker().run(),
    "quick": lambda: RunMaker(replace(a_plan(), blocks=3)).run(),
    "a/a": lambda: RunMaker(a_plan(arms=("sse", "sse"))).run(),
    "stopped at once": lambda: RunMaker().run(complete=False, blocks_done=0),
    # 90 % intervals and none of 95 %, of blocks that differ widely.
    "five blocks": lambda: RunMaker(a_plan(blocks=5), block_noise=1.0).run(),
    "other counts": lambda: RunMaker(a_plan(client_counts=(2, 60), notifications=5)).run(),
    "five arms": lambda: RunMaker(
        a_plan(arms=("sse", "socketio", "sse", "sse", "socketio"), client_counts=(1,))
    ).run(),
    "one arm": lambda: RunMaker(a_plan(arms=("socketio",))).run(),
    "negative": lambda: RunMaker(delay_ms=lambda arm, clients, client: -5.0).run(),
}

VOID_ELEMENTS = {"meta", "br", "hr", "img", "input", "link"}


DRAWING = re.compile(r'<svg role="img" viewBox.*?</svg>', re.DOTALL)
"""A drawing of a figure; those of the first screen are in `test_report_opening.py`."""


@cache
def page_of(name: str) -> str:
    return report_html(analyse(RUNS[name]()))


@pytest.fixture(params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(name: str) -> str:
    return page_of(name)


class Tags(HTMLParser):
    """Checks that tags close in order, and collects them with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser.found


def test_the_page_asks_for_nothing_and_runs_nothing(page: str) -> None:
    found = tags_of(page)

    assert not re.search(r"https?:|//[a-z]|@import|url\(", page)
    assert not {tag for tag, _ in found} & {"script", "link", "img", "iframe", "object", "form"}
    assert not [attributes for _, attributes in found if {"src", "onclick", "style"} & attributes.keys()]
    ids = {attributes.get("id") for _, attributes in found}
    links = [(tag, str(attributes["href"])) for tag, attributes in found if "href" in attributes]
    assert all(tag == "a" and href[0] == "#" and href[1:] in ids for tag, href in links)
    policies = [
        a["content"] for t, a in found if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_the_page_stays_below_a_megabyte(page: str) -> None:
    assert len(page.encode()) < 1_000_000


def test_every_drawing_is_well_formed_labelled_and_free_of_nan(page: str) -> None:
    drawings = [ElementTree.fromstring(svg) for svg in DRAWING.findall(page)]

    assert drawings
    names = []
    for drawing in drawings:
        title, description = drawing.find("title"), drawing.find("desc")
        assert drawing.get("role") == "img"
        assert title is not None
        assert title.text
        assert description is not None
        names += [title.get("id"), description.get("id")]
        assert drawing.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert len(set(names)) == len(names), "ids are unique in the page"
    assert not re.search(r"\b(nan|inf|None)\b", "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL)))


def test_every_mark_lies_on_its_drawing(page: str) -> None:
    for svg in DRAWING.findall(page):
        drawing = ElementTree.fromstring(svg)
        _, _, width, height = map(float, drawing.get("viewBox", "").split())
        for element in drawing.iter():
            across, down = ("cx", "x1", "x2"), ("cy", "y1", "y2")
            for name, limit in (*((each, width) for each in across), *((each, height) for each in down)):
                assert -0.1 <= float(element.get(name, "0")) <= limit + 0.1, ElementTree.tostring(element)


def test_every_figure_has_its_table(page: str) -> None:
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)

    assert figures
    assert all("<details><summary>" in figure and "<table>" in figure for figure in figures)
    for section in page.split("<section aria-labelledby")[1:]:
        captions = re.findall(r"<figcaption>(.*?)</figcaption>", section)
        assert len(set(captions)) == len(captions)
        assert bool(captions) == ("<figure>" in section)


def test_the_studys_eight_figures_are_there_with_its_values_beside() -> None:
    page = page_of("demo")

    titles = re.findall(r"<h3>(\d)\. (.*?)</h3>", page)

    assert [title for _, title in titles] == [
        *(
            "Mean delay per client, 1 client",
            "Mean delay per client, 3 clients",
            "Mean delay per client, 6 clients",
        ),
        "Mean delay against the number of clients",
        *("Mean CPU, 1 client", "Mean CPU, 3 clients", "Mean CPU, 6 clients"),
        "Mean CPU against the number of clients",
    ]
    for value in ("0.523", "0.919", "0.459 *", "1.110", "9.966", "6.400 *", "8.866"):
        assert f">{value}</td>" in page
    assert all(text(fault, "en").split(",")[0] in page for fault in FAULTS)


def test_the_answer_comes_first_and_every_verdict_is_below_statistics_in_the_same_words_as_everywhere(
    name: str, page: str
) -> None:
    comparisons = result_json(analyse(RUNS[name]()))["comparison"]

    places = [page.index(f">{each['text']}</li>") for each in comparisons]

    assert page.index("<h1>") < page.index("<svg")
    assert places == sorted(places)
    assert min(places, default=len(page)) > page.index('<div id="statistics">')


def test_what_is_simulated_incomplete_or_a_a_is_labelled() -> None:
    pages = {name: page_of(name) for name in ("demo", "stopped at once", "a/a")}
    phones = report_html(analyse(replace(RUNS["demo"](), simulated=False)))

    assert all("Simulated clients" in page for page in pages.values())
    assert "Simulated clients" not in phones
    assert "Stopped after 0 of 8 repetitions (0 of 48 rounds)" in pages["stopped at once"]
    assert "Stopped" not in pages["demo"]
    assert "A/A run" in pages["a/a"]


def test_words_from_outside_are_escaped() -> None:
    nasty = "<b>&\"'"
    plan = replace(a_plan(client_counts=(1,)), arms=(Arm("sse", "sse"), Arm(nasty, "socketio", {"x": nasty})))
    run = replace(RunMaker(plan).run(), id=nasty, conditions={nasty: {nasty: nasty}})

    page = report_html(analyse(run))

    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    tags_of(page)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis.from_zero("", [0.9]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (Axis.from_zero("", [1.11]), ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]),
        (Axis.from_zero("", [730.0]), ["0", "200", "400", "600", "800"]),
        (Axis.from_zero("", [-0.3, 1.0]), ["-0.5", "0", "0.5", "1"]),
        (Axis.from_zero("", []), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (Axis.decades("", [0.7, 1110.0]), ["0.1", "1", "10", "100", "1,000", "10,000"]),
        (Axis.decades("", []), ["1", "10"]),
        (Axis.categories("", ["a", "b"]), ["a", "b"]),
    ],
)
def test_axes_have_round_ticks(axis: Axis, ticks: list[str]) -> None:
    assert [text(each, "en") for each in axis.ticks().values()] == ticks


def test_series_differ_in_colour_line_and_marker() -> None:
    panel = Panel(Axis("x", 0, 1), Axis("y", 0, 1), [(index, str(index)) for index in range(4)])

    drawing = ElementTree.fromstring(Picture(panel, "p", "t", "d").svg(str))

    lines = [e for e in drawing.iter("path") if "line" in e.get("class", "")]
    assert len({e.get("class") for e in lines}) == 4
    assert len({e.get("stroke-dasharray") for e in lines}) == 4
