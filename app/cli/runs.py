"""`./siar runs`: list the runs, newest first; `./siar runs prune` moves old runs to the trash."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from app import settings as settings_module
from app.cli.prune import prune
from app.core.errors import Malformed
from app.core.exit_codes import EXIT_OK
from app.store.archive.run_index import RunIndex
from app.store.archive.summary import RunSummary
from app.store.archive.trash import Trash


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the action and its flags; `SIAR_RUNS_DIR` selects the folder of runs."""
    parser.add_argument(
        "action", nargs="?", choices=("list", "prune", "restore"), default="list", help="default: list"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="restore: the run to bring back from the trash")
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="prune: default SIAR_RETENTION_DAYS, which is 30"
    )
    parser.add_argument(
        "--keep",
        metavar="SIZE",
        help="prune: instead or as well, the oldest until the others take at most so much, such as 2GB",
    )
    parser.add_argument("--yes", action="store_true", help="prune: do it; without it the runs are only named")


def execute(arguments: argparse.Namespace) -> int:
    """List, prune or restore."""
    settings = settings_module.read(os.environ)
    if arguments.action != "prune" and (arguments.older_than is not None or arguments.keep or arguments.yes):
        raise Malformed("--older-than, --keep and --yes belong to `siar runs prune`.")
    if arguments.action == "restore":
        return _restore(settings.runs_dir, arguments.run)
    if arguments.run is not None:
        raise Malformed(
            f"`siar runs {arguments.action}` takes no run; `siar report {arguments.run}` shows it."
        )
    if arguments.action == "prune":
        return prune(
            settings.runs_dir,
            older_than=arguments.older_than,
            keep=arguments.keep,
            retention_days=settings.retention_days,
            wanted=arguments.yes,
        )
    return _list(settings.runs_dir)


def _list(runs_dir: Path) -> int:
    """Print one line per run, including damaged ones."""
    index = RunIndex(runs_dir)
    found = index.newest()
    if not found:
        print(f"No runs in {runs_dir}. `siar demo` makes one.")
    for each in found:
        print(_line(each))
    if older := index.count() - len(found):
        print(f"{older} older runs are not listed; they are in {runs_dir}, and `siar report RUN` shows each.")
    return EXIT_OK


def _line(run: RunSummary) -> str:
    if run.state == "damaged":
        return f"{run.id}  cannot be read: {run.problem}"
    if run.state == "live":
        return f"{run.id}  live: what phones posted"
    phones = f"{run.phones} phones" if run.phones else ""
    participants = ", ".join(each for each in (phones, "simulated" if run.simulated else "") if each)
    verdict = None if run.verdict is None else run.verdict.sentence_en
    parts = (run.id, run.profile, participants, run.state, verdict)
    return "  ".join(each for each in parts if each)


def _restore(runs_dir: Path, run: str | None) -> int:
    if run is None:
        raise Malformed("Name the run to bring back: siar runs restore RUN.")
    Trash(runs_dir).restore(run)
    print(f"{run} is back.")
    return EXIT_OK
