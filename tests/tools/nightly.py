"""Nightly tests: which change makes each of them due, and when each last passed. None is ever part of the gate.

`tests/nightly.toml` lists the files that have tests marked `nightly`, each with the paths that they depend on.
`tests/nightly.json` records for each file the last pass: its commit, its time and a digest of those paths. A file is
due where the digest of today's paths is another one. The digest is made from contents, so that a rebase changes
nothing.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

TABLE = ROOT / "tests" / "nightly.toml"

RECORD = ROOT / "tests" / "nightly.json"

MADE = frozenset({"__pycache__", "node_modules"})
"""Folders that tools make."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The last time that all nightly tests of a file passed."""

    commit: str
    passed_at: str
    """UTC, ISO 8601."""
    duration_s: float
    digest: str
    """Digest of the file's paths at that time."""


def triggers() -> dict[str, tuple[str, ...]]:
    """Return for each nightly file the paths whose change makes it due."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {file: tuple(paths) for paths, files in _groups(table) for file in files}


def passes() -> dict[str, Pass]:
    """Return the recorded passes by file."""
    if not RECORD.is_file():
        return {}
    return {file: Pass(**each) for file, each in json.loads(RECORD.read_text(encoding="utf-8")).items()}


def due() -> list[str]:
    """List the files of which no pass with today's paths is recorded; one without paths is never due."""
    recorded = passes()
    return [
        file
        for file, paths in triggers().items()
        if paths and (file not in recorded or recorded[file].digest != digest_of((file, *paths)))
    ]


def record(file: str, *, commit: str, passed_at: str, duration_s: float) -> None:
    """Note that a file has passed."""
    found = passes()
    found[file] = Pass(commit, passed_at, round(duration_s, 1), digest_of((file, *triggers()[file])))
    kept = {name: asdict(each) for name, each in sorted(found.items()) if name in triggers()}
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def listing() -> str:
    """Return one line for each nightly file: when it last passed, at which commit, and whether it is due."""
    recorded, now_due = passes(), set(due())
    lines = []
    for file in triggers():
        last = recorded.get(file)
        when = (
            f"passed {last.passed_at} at {last.commit[:9]} in {last.duration_s:.0f} s"
            if last
            else "never recorded"
        )
        lines.append(f"{'due' if file in now_due else 'ok':<4} {file}  {when}")
    return "\n".join(lines)


def due_line() -> str:
    """Return one line that names the files that are due."""
    files = due()
    return f"nightly: {len(files)} of {len(triggers())} files due{': ' if files else ''}{' '.join(files)}"


def digest_of(paths: tuple[str, ...]) -> str:
    """Return a digest of the names and contents of all files at and below the paths."""
    digest = hashlib.sha256()
    for path in sorted({each for name in paths for each in _files(ROOT / name)}):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _groups(table: dict[str, dict[str, list[str]]]) -> Iterator[tuple[list[str], list[str]]]:
    for group in table.values():
        yield group["paths"], group["files"]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for each in path.rglob("*") if path.is_dir() else ():
        is_other_test = each.name.startswith("test_")  # No test file changes what another one proves.
        if (
            each.is_file()
            and not is_other_test
            and not MADE.intersection(each.parts)
            and each.suffix != ".pyc"
        ):
            yield each
