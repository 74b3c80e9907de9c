"""A report that names its drawings as files names them as seen from where the report stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.cli import main as cli
from tests.unit.support_run import RunMaker, a_plan, store_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = RunMaker(a_plan(client_counts=(1,), blocks=3, notifications=4)).run()
    return str(store_run(made, tmp_path_factory.mktemp("runs")))


@pytest.mark.parametrize(
    ("forms", "output", "written"),
    [
        ("md", "report.md", "report.md"),
        ("md", "report", "report"),
        ("md,csv", "report", "report/report.md"),
        ("md,csv", "report.v1", "report.v1/report.md"),
    ],
)
def test_a_link_to_a_drawing_leads_to_it_from_the_report(
    run: str, tmp_path: Path, forms: str, output: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)  # SVG alone is enough, and is drawn at once.
    figures = ["--figures", str(tmp_path / "figures")]

    assert cli.main(["report", run, "--format", forms, "--output", str(tmp_path / output), *figures]) == 0

    report = tmp_path / written
    links = [each.split(">)")[0] for each in report.read_text().split("](<")[1:]]
    assert links
    assert all((report.parent / link).is_file() for link in links)
