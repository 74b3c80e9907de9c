"""A background job for the operator's page, as a process: `python -P -m app.lab.run.background_job ...`.

    export FOLDER TARGET                        write the run as a zip file
    compare TARGET --language id FOLDER FOLDER  write the comparison of runs with the first one as a page

Jobs take seconds of CPU and a run's size in memory, which the server must not spend itself. On an error, one line of JSON goes
to standard output and the exit code is 2; the server translates the error for its reader.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import Conflict, SiarError
from app.core.exit_codes import EXIT_OK, EXIT_USAGE
from app.core.plan.scenario import LIVE_PROFILE
from app.core.sentence import message_of, to_json
from app.i18n import LANGUAGES, refusal
from app.lab.analysis.analyse import analyse
from app.lab.report.contents.comparison import comparison_document
from app.lab.report.exchange.exporter import export_zip
from app.lab.report.renderers.html import html_of
from app.store.store import Store


def main(arguments: Sequence[str]) -> int:
    """Run the job; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.job == "export":
            export_zip(options.folder, options.target)
        else:
            options.target.write_text(_compared(options.folders, options.language), encoding="utf-8")
    except SiarError as error:
        print(json.dumps(_described(error)), flush=True)
        return EXIT_USAGE
    return EXIT_OK


def _compared(folders: Sequence[Path], language: str) -> str:
    analyses = []
    for folder in folders:
        with Store.open(folder) as store:
            run = store.load()
        if run.plan.profile == LIVE_PROFILE:
            raise Conflict(refusal("live_is_not_compared", run=run.id))
        analyses.append(analyse(run))
    return html_of(comparison_document(analyses), language)


def _described(error: SiarError) -> dict[str, object]:
    """Return an error as JSON values, from which the server can raise it again."""
    return {"kind": type(error).__name__, **to_json(message_of(error))}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="background_job", description="A job for the operator's page.")
    job = parser.add_subparsers(dest="job", required=True)
    export = job.add_parser("export")
    export.add_argument("folder", type=Path)
    export.add_argument("target", type=Path)
    compare = job.add_parser("compare")
    compare.add_argument("target", type=Path)
    compare.add_argument("folders", type=Path, nargs="+")
    compare.add_argument("--language", choices=LANGUAGES, default=LANGUAGES[0])
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
