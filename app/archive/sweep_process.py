"""Old runs are put away once: `python -P -m app.archive.sweep_process --runs-dir DIR --days N --keep RUN`.

A short-lived child of the service, which starts one each day. What it cannot do is said in the service's terminal.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.archive.retention import NOT_LOOKED_THROUGH, sweep


def main() -> int:
    """Sweep; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m app.archive.sweep_process")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--days", type=float, required=True)
    parser.add_argument("--keep", default="", help="a run that is left alone")
    wanted = parser.parse_args()
    try:
        sweep(wanted.runs_dir, days=wanted.days, keep=wanted.keep)
    except OSError as error:
        print(f"siar: {NOT_LOOKED_THROUGH}: {error.strerror}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
