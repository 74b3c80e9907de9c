"""A live run's arrivals as JSON, written one at a time: a day of phones may have millions."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, TextIO


def write_live(file: TextIO, run: str, samples: Iterable[Mapping[str, Any]]) -> None:
    """Write the text of `json.dumps({"run": run, "samples": [...]}, indent=1)` and a line feed, without holding all samples."""
    file.write(f'{{\n "run": {json.dumps(run)},\n "samples": [')
    before = "\n"
    for sample in samples:
        file.write(before + textwrap.indent(json.dumps(sample, indent=1), "  "))
        before = ",\n"
    file.write("]\n}\n" if before == "\n" else "\n ]\n}\n")
