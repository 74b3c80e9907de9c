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


def write_all(analysis: Analysis, folder: Path) -> tuple[Path, ...]:
    """Write `report.html`, `result.json`, `deliveries.csv`, `trials.csv` and `clients.csv`; return their paths in this order."""
    writers: dict[str, Callable[[TextIO], object]] = {
        "report.html": lambda file: file.write(report_html(analysis)),
        "result.json": lambda file: file.write(result_text(analysis)),
        **{name: partial(write, analysis) for name, write in WRITERS.items()},
    }
    paths = []
    for name, write in writers.items():
        write_atomically(folder / name, write)
        paths.append(folder / name)
    return tuple(paths)
