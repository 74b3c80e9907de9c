"""What a phone said of its device, taken out of a run's result and report: its model and browser can tell whose it is.

The figures that were computed from all phones together stay, and so does the row of the phone's pseudonym.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import escape

from app.core.errors import StoreError, Unknown
from app.store.archive.folders import read_file, replace_file
from app.store.archive.summary import RESULT, RESULT_BYTES_MAX
from app.store.forget_device import bare_participant

REPORT = "report.html"
REPORT_BYTES_MAX = 64 * 1024 * 1024


def delete_facts(folder: Path, client: int) -> None:
    """Take them out of `result.json` and `report.html`. Raises `StoreError`, `OSError`."""
    try:
        result = json.loads(read_file(folder / RESULT, bytes_max=RESULT_BYTES_MAX))
        conditions = result["conditions"]
    except Unknown:
        return  # A run that has not come so far, or of which nobody made a report.
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{RESULT} of run {folder.name} is damaged.") from error
    if "participants" not in conditions:
        return
    for each in conditions["participants"]:
        if each.get("client") == client:
            _delete_from_report(folder / REPORT, each)
    # Last: by it the report's row is found.
    bare = {**result, "conditions": bare_participant(conditions, client)}
    replace_file(folder / RESULT, json.dumps(bare, indent=1) + "\n")


def _delete_from_report(path: Path, participant: Mapping[str, Any]) -> None:
    try:
        page = read_file(path, bytes_max=REPORT_BYTES_MAX).decode()
    except Unknown:
        return
    name = participant.get("pseudonym")
    old, new = _row(name, participant.get("model"), participant.get("browser")), _row(name, None, None)
    if old != new and old in page:
        replace_file(path, page.replace(old, new))


def _row(*cells: object) -> str:
    """The beginning of a row as the report's template writes it."""
    texts = ("-" if cell is None else str(cell) for cell in cells)
    return "".join(f'<td class="words">{escape(text)}</td>' for text in texts)
