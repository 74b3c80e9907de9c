"""The files of a load run: `load.html`, those of every run, and those requested by flags."""

from __future__ import annotations

import json
from pathlib import Path

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import Analysis
from app.lab.report.atomic_files import write_atomically
from app.lab.report.data.headline import headline_json
from app.lab.report.data.result import result_json
from app.lab.report.files import write_all
from app.tools.load.headline import load_headline
from app.tools.load.junit import junit_text
from app.tools.load.page import load_html
from app.tools.load.result import LoadResult, result_part

PAGE = "load.html"
RESULT = "load.json"


def write_load(
    analysis: Analysis,
    result: LoadResult,
    folder: Path,
    *,
    json_path: Path | None,
    junit_path: Path | None,
    duration_s: float,
    language: str = LANGUAGES[0],
) -> tuple[Path, ...]:
    """Write all files. Returns their paths, `load.html` first."""
    write_atomically(folder / PAGE, lambda file: file.write(load_html(analysis, result, language)))
    paths = [folder / PAGE, *write_all(analysis, folder)]
    found = load_headline(analysis, result)
    own = {"headline": headline_json(found.rule, found.whole), "load": result_part(result)}
    text = json.dumps({**result_json(analysis), **own}, indent=1, allow_nan=False) + "\n"
    # The result of every run with the headline and the part `load` of this one, so that one reader suffices for both.
    # `result.json` stays without them, because `./siar verify` recomputes that file from the raw rows.
    write_atomically(folder / RESULT, lambda file: file.write(text))
    paths.append(folder / RESULT)
    if json_path is not None:
        write_atomically(json_path, lambda file: file.write(text))
    if junit_path is not None:
        junit = junit_text(result, run=analysis.run.id, duration_s=duration_s)
        write_atomically(junit_path, lambda file: file.write(junit))
    return tuple(paths)
