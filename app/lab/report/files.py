"""The files of a run's folder, each written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

from app.core.errors import StoreError
from app.lab.analysis.analyse import Analysis
from app.lab.report.csv_files import WRITERS
from app.lab.report.html import report_html
from app.lab.report.result import result_text


def write_all(analysis: Analysis, folder: Path) -> tuple[Path, ...]:
    """Write `report.html`, `result.json`, `deliveries.csv`, `trials.csv` and `clients.csv`; the paths, in this order."""
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


def write_atomically(path: Path, write: Callable[[TextIO], object]) -> None:
    """Write beside `path` and rename: a reader sees the old file or the new one, and nothing is left of a failure.

    A link is followed, and what is no regular file (`/dev/stdout`, a pipe) is written to, never replaced. Raises
    `StoreError` when it cannot be written.
    """

    def in_text(target: Path) -> None:
        with target.open("w", encoding="utf-8", newline="") as file:
            write(file)

    replace_atomically(path, in_text)


def write_bytes(path: Path, data: bytes) -> None:
    """The same for what is no text."""
    replace_atomically(path, lambda target: target.write_bytes(data))


def replace_atomically(path: Path, make: Callable[[Path], object]) -> None:
    """The same with a function that makes the file at the path that it is given."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            make(target)
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            make(draft)
            draft.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
