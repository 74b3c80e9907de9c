"""One retention sweep: `python -P -m app.store.archive.sweep_process --runs-dir DIR --days N --keep RUN`.

The service starts this short-lived child process once a day. Errors are printed to the service's terminal.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.store.archive.retention import NOT_LOOKED_THROUGH, Swept, sweep


def main() -> int:
    """Run one sweep and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m app.store.archive.sweep_process")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--days", type=float, required=True)
    parser.add_argument("--keep", default="", help="a run that is left alone")
    wanted = parser.parse_args()
    try:
        swept = sweep(wanted.runs_dir, days=wanted.days, keep=wanted.keep)
    except OSError as error:
        print(f"siar: {NOT_LOOKED_THROUGH}: {error.strerror}.", file=sys.stderr)
        return EXIT_FAILURE
    for line in _lines(swept, wanted.days):
        print(f"siar: {line}", file=sys.stderr)
    return EXIT_OK


def _lines(swept: Swept, days: float) -> list[str]:
    """Return sentences about what was removed, one for each kind."""
    removed = (
        (swept.purged, "Deleted for good after their week in the trash"),
        (swept.trashed, f"Moved into the trash after {days:g} days (siar runs restore RUN brings one back)"),
        (swept.nameless, f"Participants' names deleted after {days:g} days"),
    )
    return [f"{what}: {', '.join(runs)}." for runs, what in removed if runs]


if __name__ == "__main__":
    sys.exit(main())
