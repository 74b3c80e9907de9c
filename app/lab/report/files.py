"""Write the report's files into a run's folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

from app.lab.analysis.analyse import Analysis
from app.lab.report.atomic_files import write_atomically
from app.lab.report.data.csv_files import WRITERS
from app.lab.report.data.result import result_text
from app.lab.report.renderers.html import report_html

_WRITERS: dict[str, Callable[[Analysis, TextIO], object]] = {
    "report.html": lambda analysis, file: file.write(report_html(analysis)),
    "result.json": lambda analysis, file: file.write(result_text(analysis)),
    **WRITERS,
}


def paths_in(folder: Path) -> tuple[Path, ...]:
    """Return the paths of the report's files: `report.html`, `result.json` and the CSV files."""
    return tuple(folder / name for name in _WRITERS)


def write_all(analysis: Analysis, folder: Path) -> tuple[Path, ...]:
    """Write the report's files; return their paths."""
    for name, write in _WRITERS.items():
        write_atomically(folder / name, partial(write, analysis))
    return paths_in(folder)
