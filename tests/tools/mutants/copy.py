"""A clone of the commit to work in: eight people may be editing the checkout, and a mutant must never be in it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@contextlib.contextmanager
def clone(ref: str = "HEAD") -> Iterator[Path]:
    """A folder with what is committed there, which goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="siar-mutants-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", ROOT, copy], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", commit(ROOT, ref)], cwd=copy, check=True)
        yield copy


def commit(folder: Path, ref: str = "HEAD") -> str:
    """The full name of a commit, `HEAD` of a copy being what is tried there: the checkout's own moves on meanwhile."""
    command = ["git", "rev-parse", "--verify", f"{ref}^{{commit}}"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def environment(copy: Path) -> dict[str, str]:
    """For processes that test the copy: its modules come first, and byte code of a mutant is never kept."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SIAR_"))}
    others = os.environ.get("PYTHONPATH")
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(copy), *([others] if others else [])]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Two runs beside each other on two cores: more threads for the same sums only cost.
        "OPENBLAS_NUM_THREADS": "1",
    }
