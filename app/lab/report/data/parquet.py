"""Parquet files with the rows of the CSV files and typed columns; they need pyarrow.

`deliveries.parquet`, `trials.parquet` and `clients.parquet` are made from the text of the CSV files, so that both have the same
values. The meaning of a column is in its metadata.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.core.errors import Unfit
from app.lab.analysis.analyse import Analysis
from app.lab.report.data.csv_files import DICTIONARIES, WRITERS

COLUMNS: Mapping[str, Mapping[str, str]] = {
    name.removesuffix(".csv"): columns for name, columns in DICTIONARIES.items()
}

_TEXT = frozenset({"run", "arm", "transport", "state", "outcome", "lifecycle", "warnings", "participants"})
_FLAGS = frozenset({"warmup", "visible", "sample", "idle", "valid", "in_comparison"})
_WHOLE = frozenset(
    {
        *("trial", "block", "clients", "client", "seq", "offset", "due_us", "sent_us", "place"),
        *("started_us", "ended_us", "notifications", "expected", "delivered", "lost", "late", "replayed"),
        *("duplicates", "out_of_order", "samples", "rss_bytes", "retransmissions"),
        *("gaps_over_2s", "gaps_over_5s", "spikes_over_500ms"),
    }
)
"""Columns of 64-bit integers. A column in none of these sets is a double."""


def need() -> None:
    """Raise `Unfit` where pyarrow is missing, with instructions to install it."""
    if importlib.util.find_spec("pyarrow") is None:
        raise Unfit(
            "Parquet files are written by the package pyarrow, which is missing and large: pip install pyarrow, in "
            "siar's .venv, and again. --format csv gives the same columns and needs nothing."
        )


def write_parquet(analysis: Analysis, name: str, path: Path) -> None:
    """Write one of the tables in `COLUMNS` to the path, in batches of rows. Raises `Unfit` without pyarrow."""
    need()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        with rows.open("w", encoding="utf-8", newline="") as file:
            WRITERS[f"{name}.csv"](analysis, file)
        _convert(rows, path, COLUMNS[name])


def _convert(rows: Path, path: Path, columns: Mapping[str, str]) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    schema = pyarrow.schema(
        [
            pyarrow.field(name, _type(pyarrow, name), metadata={"meaning": text})
            for name, text in columns.items()
        ]
    )
    options = csv.ConvertOptions(
        column_types=schema, strings_can_be_null=True, true_values=["1"], false_values=["0"], null_values=[""]
    )
    with (
        csv.open_csv(rows, convert_options=options) as reader,
        parquet.ParquetWriter(path, schema, compression="zstd") as writer,
    ):
        for batch in reader:
            writer.write_batch(batch.cast(schema))


def _type(pyarrow: Any, name: str) -> Any:
    if name in _TEXT:
        return pyarrow.string()
    if name in _FLAGS:
        return pyarrow.bool_()
    return pyarrow.int64() if name in _WHOLE else pyarrow.float64()
