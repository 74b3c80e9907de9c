"""What the operator's page asks for and takes seconds of a core, as a process: `python -P -m app.lab.run.background_job ...`.

    export FOLDER TARGET                        the run as a zip file to give away
    compare TARGET --language id FOLDER FOLDER  runs against the first, as a page

In the server it would hold everybody else up, and hold a whole run in the server's memory. An error is one line of JSON
on standard output and exit code 2; the server says it in its reader's language.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import Conflict, SiarError
from app.core.plan.scenario import LIVE_PROFILE
from app.core.sentence import to_json, words_of
from app.i18n import LANGUAGES, refusal
from app.lab.analysis.analyse import analyse
from app.lab.report.exchange.exporter import export_zip
from app.lab.report.renderers.comparison_html import compared_page
from app.store.store import Store

EXIT_OK = 0
EXIT_REFUSED = 2


def main(arguments: Sequence[str]) -> int:
    """Do it; the exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.what == "export":
            export_zip(given.folder, given.target)
        else:
            given.target.write_text(_compared(given.folders, given.language), encoding="utf-8")
    except SiarError as error:
        print(json.dumps(_described(error)), flush=True)
        return EXIT_REFUSED
    return EXIT_OK


def _compared(folders: Sequence[Path], language: str) -> str:
    analyses = []
    for folder in folders:
        with Store.open(folder) as store:
            run = store.load()
        if run.plan.profile == LIVE_PROFILE:
            raise Conflict(refusal("live_is_not_compared", run=run.id))
        analyses.append(analyse(run))
    return compared_page(analyses, language)


def _described(error: SiarError) -> dict[str, object]:
    """What happened, for the server to raise again."""
    return {"kind": type(error).__name__, **to_json(words_of(error))}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="desk_work", description="Work for the operator's page.")
    what = parser.add_subparsers(dest="what", required=True)
    export = what.add_parser("export")
    export.add_argument("folder", type=Path)
    export.add_argument("target", type=Path)
    compare = what.add_parser("compare")
    compare.add_argument("target", type=Path)
    compare.add_argument("folders", type=Path, nargs="+")
    compare.add_argument("--language", choices=LANGUAGES, default=LANGUAGES[0])
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
