"""A live run's arrivals as JSON, written one by one: of a day of phones there are millions."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, TextIO


def write_live(file: TextIO, run: str, samples: Iterable[Mapping[str, Any]]) -> None:
    """What `json.dumps({"run": run, "samples": [...]}, indent=1)` gives, and a line's end, without holding it."""
    file.write(f'{{\n "run": {json.dumps(run)},\n "samples": [')
    before = "\n"
    for sample in samples:
        file.write(before + textwrap.indent(json.dumps(sample, indent=1), "  "))
        before = ",\n"
    file.write("]\n}\n" if before == "\n" else "\n ]\n}\n")
