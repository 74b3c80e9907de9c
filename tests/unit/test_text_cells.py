"""No cell of a CSV file is a formula, and every number stays a number."""

from __future__ import annotations

import csv
import io

import pytest

from app.core.trial import RunRecord
from app.lab.analysis.analyse import analyse
from app.lab.report.data.cells import text_cell
from app.lab.report.data.csv_files import WRITERS
from tests.support import records


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "-", "-1e"])
def test_what_begins_as_a_formula_stands_behind_an_apostrophe(text: str) -> None:
    assert text_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "sse", "-1", "-0.25", "+3", "-1e-05", "a=b"])
def test_numbers_and_words_stay_as_they_are(text: str) -> None:
    assert text_cell(text) == text


@pytest.mark.parametrize("name", WRITERS)
def test_no_table_of_a_run_with_hostile_words_has_a_formula(name: str) -> None:
    run = RunRecord(
        "=HYPERLINK(1)", "2026-01-01T00:00:00Z", True, records.plan(), {}, (records.trial(),), simulated=True
    )
    file = io.StringIO()

    WRITERS[name](analyse(run), file)

    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert rows
    assert {row["run"] for row in rows} == {"'=HYPERLINK(1)"}
