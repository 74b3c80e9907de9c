"""A clone of the commit to work in: the checkout may be edited meanwhile, and must never contain a mutant."""

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
    """Create a folder with the commit's files; it is deleted when the block ends."""
    with tempfile.TemporaryDirectory(prefix="siar-mutants-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", ROOT, copy], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", commit(ROOT, ref)], cwd=copy, check=True)
        yield copy


def commit(folder: Path, ref: str = "HEAD") -> str:
    """Return the full hash of a commit. The `HEAD` of a copy stays, while that of the checkout may move on."""
    command = ["git", "rev-parse", "--verify", f"{ref}^{{commit}}"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def environment(copy: Path) -> dict[str, str]:
    """Return the environment of processes that test the copy: its modules come first, and no byte code is written."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SIAR_"))}
    others = os.environ.get("PYTHONPATH")
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(copy), *([others] if others else [])]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Two runs share two cores, so that more threads for the same computation only cost time.
        "OPENBLAS_NUM_THREADS": "1",
    }
