"""`./siar runs`: what has been measured, newest first; `./siar runs prune` puts old runs into the trash."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from app import settings as settings_module
from app.archive import retention
from app.archive.shelf import Shelf
from app.archive.summary import RunSummary
from app.archive.trash import KEPT_DAYS, Trash
from app.core.errors import Malformed, SiarError, Unfit
from app.serving import server_file

DAYS_MAX = 36_500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`SIAR_RUNS_DIR` says where the runs are."""
    parser.add_argument(
        "action", nargs="?", choices=("list", "prune", "restore"), default="list", help="default: list"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="restore: the run to bring back from the trash")
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="prune: default SIAR_RETENTION_DAYS, which is 30"
    )
    parser.add_argument("--yes", action="store_true", help="prune: do it; without it the runs are only named")


def execute(arguments: argparse.Namespace) -> int:
    """List, prune or bring back."""
    settings = settings_module.read(os.environ)
    if arguments.action == "restore":
        return _restore(settings.runs_dir, arguments.run)
    if arguments.run is not None:
        raise Malformed(
            f"`siar runs {arguments.action}` takes no run; `siar report {arguments.run}` shows it."
        )
    if arguments.action == "prune":
        days = settings.retention_days if arguments.older_than is None else arguments.older_than
        if not 0 <= days <= DAYS_MAX:
            raise Malformed(f"--older-than is {days:g}; it must be 0 to {DAYS_MAX}.")
        return _prune(settings.runs_dir, days=days, wanted=arguments.yes)
    return _list(settings.runs_dir)


def _list(runs_dir: Path) -> int:
    """One line per run; a damaged one is named, not hidden."""
    found = Shelf(runs_dir).newest()
    if not found:
        print(f"No runs in {runs_dir}. `siar demo` makes one.")
    for each in found:
        print(_line(each))
    return 0


def _line(run: RunSummary) -> str:
    if run.state == "damaged":
        return f"{run.id}  cannot be read: {run.problem}"
    if run.state == "live":
        return f"{run.id}  live: what phones posted"
    phones = f"{run.phones} phones" if run.phones else ""
    who = ", ".join(each for each in (phones, "simulated" if run.simulated else "") if each)
    verdict = None if run.verdict is None else run.verdict.sentence_en
    parts = (run.id, run.profile, who, run.state, verdict)
    return "  ".join(each for each in parts if each)


def _prune(runs_dir: Path, *, days: float, wanted: bool) -> int:
    """Old runs into the trash, what was there for a week away for good."""
    kept = _written_now(runs_dir)
    old = [run for run in retention.old_runs(runs_dir, days=days) if run != kept]
    if not wanted:
        for run in old:
            print(run)
        print(f"{len(old)} of the runs are older than {days:g} days; --yes moves them into the trash.")
        return 0
    trash, moved = Trash(runs_dir), 0
    for run in old:
        try:
            trash.throw(run)
        except SiarError as error:
            print(f"{run}  stays: {error}")
            continue
        moved += 1
        print(f"{run}  in the trash")
    gone = trash.purge()
    print(
        f"{moved} moved into the trash, where they can be brought back for {KEPT_DAYS} days "
        f"(siar runs restore RUN); {len(gone)} deleted for good."
    )
    return 0


def _written_now(runs_dir: Path) -> str | None:
    """The live run of a server that runs here: however old it is, phones post into it."""
    try:
        server_file.read(runs_dir)
    except Unfit:
        return None
    return next((each.id for each in Shelf(runs_dir).newest() if each.state == "live"), None)


def _restore(runs_dir: Path, run: str | None) -> int:
    if run is None:
        raise Malformed("Name the run to bring back: siar runs restore RUN.")
    Trash(runs_dir).restore(run)
    print(f"{run} is back.")
    return 0
