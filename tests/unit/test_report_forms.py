"""The same run in Markdown, PDF, Parquet and as single figures: the same words, the same bytes each time, nothing let in."""

from __future__ import annotations

import csv
import re
import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.core.errors import Malformed, Unfit
from app.core.plan.scenario import Arm
from app.i18n import speaker
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.comparison.sentences import sentence
from app.lab.report.contents.first_screen import answer
from app.lab.report.contents.sections import document_of
from app.lab.report.data import parquet
from app.lab.report.data.csv_files import write_deliveries
from app.lab.report.document import figures_of
from app.lab.report.forms import FORMS
from app.lab.report.renderers.figure_files import width_mm, write_figures
from app.lab.report.renderers.html import report_html
from app.lab.report.renderers.markdown import report_markdown
from app.lab.report.renderers.pdf import report_pdf
from app.lab.report.renderers.standalone import FACE, standalone
from tests.components import require_library
from tests.unit.support_run import RunMaker, a_plan

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"

SVG = "{http://www.w3.org/2000/svg}"

english = speaker("en")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(RunMaker(a_plan(client_counts=(1, 3), blocks=3, notifications=6)).run())


def rows_of(markdown: str) -> list[list[str]]:
    """Every row of every pipe table, cell by cell."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


# --- Markdown


def test_markdown_says_every_verdict_and_every_section_of_the_page(analysis: Analysis) -> None:
    text, document = report_markdown(analysis), document_of(analysis)

    places = [text.index(f"\n## {english(section.title)}\n") for section in document.sections]

    assert places == sorted(places)
    assert all(english(sentence(each)) in text for each in analysis.comparisons)
    assert text.startswith(f"# {english(answer(analysis))}\n")


def test_every_table_of_markdown_has_as_many_cells_in_each_row(analysis: Analysis) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", report_markdown(analysis), re.MULTILINE)

    assert len(tables) > 10
    assert all(len({len(row) for row in rows_of(table)}) == 1 for table in tables)


@pytest.mark.parametrize(
    "name", ["<img src=x>", "a|b", "[x](https://a.b)", "# head", "*a*", "`a", "a\nb", "&lt;"]
)
def test_no_name_from_outside_becomes_markup_in_markdown(name: str) -> None:
    plan = replace(
        a_plan(client_counts=(1,), blocks=1, notifications=3), arms=(Arm("sse", "sse"), Arm(name, "socketio"))
    )

    text = report_markdown(analyse(replace(RunMaker(plan).run(), conditions={name: name})))

    assert not re.search(r"(?<!\\)<img|(?<!\\)\]\(|^# head|(?<![\\*])\*a\*|(?<!\\)&lt;", text, re.MULTILINE)
    assert all(
        len({len(row) for row in rows_of(table)}) == 1
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    )
    assert len(re.findall("^# ", text, re.MULTILINE)) == 1


# --- PDF


def unpacked(pdf: bytes) -> bytes:
    """The file with every stream that zlib can read, readable."""
    found = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompressobj().decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(found)


def test_a_pdf_is_the_same_bytes_each_time_and_carries_its_face() -> None:
    require_library("typst")
    small = analyse(RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=3)).run())

    first, second = report_pdf(small), report_pdf(small)

    assert first.startswith(b"%PDF-")
    assert first == second
    inside = unpacked(first)
    assert b"SiarSans" in inside
    assert b"/FontFile" in inside
    assert b"/CreationDate" not in inside


@pytest.mark.slow
def test_a_pdf_takes_names_from_outside_and_every_kind_of_run() -> None:
    require_library("typst")
    nasty = '#read("/etc/passwd") *a* _b_ $x$ <l> "q" \\ [c]'
    plan = replace(
        a_plan(client_counts=(1, 60), blocks=1, notifications=3),
        arms=(Arm("sse", "sse"), Arm(nasty, "socketio")),
    )
    run = replace(RunMaker(plan).run(), id=nasty, conditions={nasty: nasty})
    runs = [run, RunMaker(a_plan()).run(complete=False, blocks_done=0), RunMaker(a_plan(arms=("sse",))).run()]

    for each in runs:
        for language in ("en", "id"):
            assert report_pdf(analyse(each), language).startswith(b"%PDF-")


def test_without_typst_a_sentence_says_how_to_get_it(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)

    with pytest.raises(Unfit, match=r"pip install -r requirements-report\.txt"):
        report_pdf(analysis)


# --- figures


def test_each_drawing_stands_alone_at_the_width_asked_for_with_its_face(analysis: Analysis) -> None:
    drawings = [each for drawn in figures_of(document_of(analysis)) for each in drawn.figure.drawings]

    assert len({each.picture.name for each in drawings}) == len(drawings) > 5
    for each in drawings:
        root = ElementTree.fromstring(standalone(each.picture, english, width_mm=85, with_face=True))
        style = root.findtext(f"{SVG}style") or ""
        assert root.get("width") == "85mm"
        assert f"@font-face{{font-family:'{FACE}';src:url(data:font/woff2;base64," in style
        assert "var(" not in style
        assert not re.search(r"https?:|url\((?!data:font/woff2)", style)


def test_a_drawing_alone_has_the_colours_of_the_page(analysis: Analysis) -> None:
    drawing = figures_of(document_of(analysis))[0].figure.drawings[0]
    page = report_html(analysis)

    colours = set(re.findall(r"#[0-9a-f]{6}", standalone(drawing.picture, english)))

    assert len(colours) > 6
    assert colours <= {*re.findall(r"#[0-9a-f]{6}", page[: page.index("@media")]), "#ffffff"}


@pytest.mark.slow
def test_figures_are_written_as_svg_png_and_pdf_the_same_each_time(
    analysis: Analysis, tmp_path: Path
) -> None:
    require_library("typst")
    document = document_of(analysis)

    written = write_figures(document, tmp_path / "a", wide_mm=85)
    write_figures(document, tmp_path / "b", wide_mm=85)

    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {f"{name}.{end}" for name in written for end in ("svg", "png", "pdf")} | {"figures.md"}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    for name in written:
        png = (tmp_path / "a" / f"{name}.png").read_bytes()
        assert png.startswith(PNG_MAGIC)
        assert abs(struct.unpack(">I", png[16:20])[0] - 85 / 25.4 * 600) <= 1
        assert png[37:41] == b"pHYs"
        assert struct.unpack(">IIB", png[41:50]) == (23622, 23622, 1)  # 600 to an inch
        assert b"SiarSans" in unpacked((tmp_path / "a" / f"{name}.pdf").read_bytes())
    captions = (tmp_path / "a" / "figures.md").read_text()
    assert all(f"- `{name}`: " in captions for name in written)


@pytest.mark.parametrize(
    ("text", "wide_mm"), [("85mm", 85.0), ("8.5cm", 85.0), ("3.5in", 88.9), (" 180mm ", 180.0)]
)
def test_a_width_is_read_in_any_unit_of_a_journal(text: str, wide_mm: float) -> None:
    assert width_mm(text) == pytest.approx(wide_mm)


@pytest.mark.parametrize("text", ["", "85", "85px", "-85mm", "1mm", "9000mm", "nanmm", "1e2mm"])
def test_what_is_no_width_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Malformed, match="85mm"):
        width_mm(text)


# --- Parquet


def test_parquet_has_the_rows_of_the_csv_file_with_types(analysis: Analysis, tmp_path: Path) -> None:
    read = require_library("pyarrow.parquet").read_table
    with (tmp_path / "deliveries.csv").open("w", newline="") as file:
        write_deliveries(analysis, file)
    with (tmp_path / "deliveries.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    parquet.write_parquet(analysis, "deliveries", tmp_path / "deliveries.parquet")

    table = read(tmp_path / "deliveries.parquet")
    found = table.to_pylist()
    assert len(found) == len(rows) > 100
    for typed, text in zip(found, rows, strict=True):
        assert list(typed) == list(text)
        assert (typed["arm"], typed["due_us"], typed["sample"]) == (
            text["arm"],
            int(text["due_us"]),
            text["sample"] == "1",
        )
        assert typed["delay_ms"] == (float(text["delay_ms"]) if text["delay_ms"] else None)
    assert table.schema.field("delay_ms").metadata == {b"meaning": b"received - due"}


def test_trials_go_into_parquet_too(analysis: Analysis, tmp_path: Path) -> None:
    read = require_library("pyarrow.parquet").read_table

    parquet.write_parquet(analysis, "trials", tmp_path / "trials.parquet")

    found = read(tmp_path / "trials.parquet").to_pylist()
    assert len(found) == len(analysis.trials) + len(analysis.idle)
    assert {type(row["valid"]) for row in found} == {bool}


def test_without_pyarrow_a_sentence_says_how_to_get_it(
    analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(Unfit, match="pip install pyarrow"):
        parquet.write_parquet(analysis, "trials", tmp_path / "trials.parquet")
    assert not (tmp_path / "trials.parquet").exists()


# --- all of them


def test_a_translation_stands_beside_the_english_file_and_files_for_programs_have_one_name() -> None:
    names = {form: list(FORMS[form].names("id")) for form in FORMS}

    assert names == {
        "html": ["report.id.html"],
        "md": ["report.id.md"],
        "pdf": ["report.id.pdf"],
        "csv": ["deliveries.csv", "trials.csv", "clients.csv"],
        "json": ["result.json"],
        "parquet": ["deliveries.parquet", "trials.parquet", "clients.parquet"],
    }


def test_the_tests_set_pages_with_what_users_get() -> None:
    root = Path(__file__).resolve().parents[2]
    wanted = [
        line for line in (root / "requirements-report.txt").read_text().splitlines() if line[:1].isalpha()
    ]

    assert wanted
    assert set(wanted) <= set((root / "tests/requirements.txt").read_text().splitlines())
