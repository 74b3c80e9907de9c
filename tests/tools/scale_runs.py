"""How a folder with a day of experiments is listed, opened and reported: `python -m tests.tools.scale_runs`.

One synthetic run is generated and ingested as a runner with phones does it (support/large_run.py); the others are
copies of it under other ids, because the cost of listing, opening and reporting does not depend on the figures. Then
the commands are run as a user would, and a server is asked for the list twice, because it caches what it has read.

    Seconds are elapsed time, CPU s the process's CPU time, MB its peak memory, start of Python included.

    --runs N           (default 50)
    --rows N           deliveries in all of them (default 10,000,000)
    --one              also one run that holds all rows: its report
    --folder DIR       where to keep the runs (default: a temporary folder, deleted afterwards)
    --json PATH        the figures as JSON

Limits: 30 CPU seconds for any of them, 2 GB; for the report of one run with all rows 180 CPU seconds and 8 GB; 30 s
elapsed for an answer of the server. Exit code 99 when one is missed, as for any gate.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.exit_codes import EXIT_GATE, EXIT_OK
from app.lab.analysis.analyse import analyse
from app.lab.report.files import write_all
from app.store.store import Store
from tests.support.commands import environment_of
from tests.support.large_run import Size, ingest_run
from tests.support.server import ROOT, running_server

SECONDS_MAX, PEAK_MB_MAX = 30.0, 2_000.0
ONE_SECONDS_MAX, ONE_PEAK_MB_MAX = 180.0, 8_000.0
NOTIFICATIONS = 600
"""Notifications of one run: a hundred in each of six trials."""


Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Taken:
    """Resources used by one command, including the start of Python."""

    seconds: float
    cpu_s: float
    peak_mb: float
    output: str


def timed_siar(words: Sequence[str], **settings: str) -> Taken:
    """Run `./siar ...` as a user calls it. Raises `SystemExit` when it does not end with 0."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        began_s = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", *words],
            env=environment_of(**settings),
            stdout=output,
            stderr=output,
        )
        # Like `wait`, but it also returns the resources that this process used.
        _, status, usage = os.wait4(process.pid, 0)
        taken_s = time.perf_counter() - began_s
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"siar {' '.join(words)} ended with {process.returncode}: {text}")
    peak = usage.ru_maxrss / 1e6 if sys.platform == "darwin" else usage.ru_maxrss * 1024 / 1e6
    return Taken(taken_s, usage.ru_utime + usage.ru_stime, peak, text)


@dataclass(frozen=True, slots=True)
class Line:
    """Measurements of one operation."""

    what: str
    seconds: float
    cpu_s: float | None = None
    """`None` if another process does the work."""
    peak_mb: float | None = None
    limits: Limits = (SECONDS_MAX, PEAK_MB_MAX)

    @property
    def is_kept(self) -> bool:
        """True if it was within its limits."""
        taken_s = self.seconds if self.cpu_s is None else self.cpu_s
        return taken_s <= self.limits[0] and (self.peak_mb or 0.0) <= self.limits[1]


def size_for(rows: int) -> Size:
    """Return the size of a run with about so many deliveries."""
    return Size(max(1, round(rows / NOTIFICATIONS)), NOTIFICATIONS)


def draw(folder: Path, rows: int) -> None:
    """Create a run with everything that the end of a run writes."""
    ingest_run(folder, size_for(rows))
    with Store.open(folder) as store:
        write_all(analyse(store.load()), folder)


def fill(runs_dir: Path, *, runs: int, rows: int) -> tuple[int, list[str]]:
    """Fill `runs_dir` with runs. Returns the total of rows, and the ids."""
    names = [f"20260101-{number:06}-scale" for number in range(runs)]
    first = runs_dir / names[0]
    # In a process of its own, so that its memory is not counted here.
    subprocess.run(
        [sys.executable, "-P", "-m", "tests.tools.scale_runs", "draw", str(first), str(round(rows / runs))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    for name in names[1:]:
        shutil.copytree(first, runs_dir / name)
    return size_for(round(rows / runs)).deliveries * runs, names


def measured(runs_dir: Path, names: list[str]) -> Iterator[Line]:
    """Yield the measurements of what users do with such a folder."""
    first, last = names[0], names[-1]
    for what, words in (
        ("list", ["runs"]),
        ("prune, named only", ["runs", "prune", "--keep", "1GB"]),
        ("report as text", ["report", last]),
        ("report as a page", ["report", last, "--format", "html", "--output", str(runs_dir / "drawn.html")]),
        ("compare two", ["compare", first, last]),
        ("verify", ["verify", last]),
    ):
        taken = timed_siar(words, SIAR_RUNS_DIR=str(runs_dir))
        yield Line(what, taken.seconds, taken.cpu_s, taken.peak_mb)
    yield from server_list(runs_dir)


def server_list(runs_dir: Path) -> Iterator[Line]:
    """Measure the operator's list, on a server that has not read the folder yet, and on one that has."""
    with tempfile.TemporaryDirectory(prefix="siar-scale-") as folder:
        (Path(folder) / "runs").symlink_to(runs_dir)
        with running_server(Path(folder)) as server:
            for what in ("list of a server, at first", "list of a server, again"):
                began_s = time.perf_counter()
                status, answer = server.request("GET", "/api/runs")
                assert status == 200, answer
                yield Line(what, time.perf_counter() - began_s)


def one(runs_dir: Path, rows: int) -> Line:
    """Measure the report of a single run that has all rows."""
    folder = runs_dir / "20260102-000000-scale"
    size = Size(max(1, round(rows / 6_000)), 6_000)
    ingest_run(folder, size)
    taken = timed_siar(["report", str(folder), "--format", "html", "--output", str(runs_dir / "one.html")])
    return Line(
        f"report of {size.deliveries:,} rows in one run",
        taken.seconds,
        taken.cpu_s,
        taken.peak_mb,
        (ONE_SECONDS_MAX, ONE_PEAK_MB_MAX),
    )


def main(arguments: list[str]) -> int:
    """Fill, measure and judge. Returns the exit code."""
    if arguments[:1] == ["draw"]:
        draw(Path(arguments[1]), int(arguments[2]))
        return 0
    given = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="siar-scale-") as temporary:
        runs_dir = (given.folder or Path(temporary)).resolve()
        runs_dir.mkdir(parents=True, exist_ok=True)
        rows, names = fill(runs_dir, runs=given.runs, rows=given.rows)
        print(f"{rows:,} deliveries in {len(names)} runs", flush=True)
        lines = []
        for line in measured(runs_dir, names):
            lines.append(line)
            _show(line)
        if given.one:
            lines.append(one(runs_dir, given.rows))
            _show(lines[-1])
    missed = [line.what for line in lines if not line.is_kept]
    print("Missed: " + ", ".join(missed) if missed else "No limit was missed.")
    if given.json:
        found = [
            {"what": e.what, "seconds": e.seconds, "cpu_s": e.cpu_s, "peak_mb": e.peak_mb} for e in lines
        ]
        given.json.write_text(
            json.dumps({"rows": rows, "runs": len(names), "lines": found, "missed": missed}, indent=1) + "\n"
        )
    return EXIT_GATE if missed else EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.scale_runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    return parser


def _show(line: Line) -> None:
    cpu = "" if line.cpu_s is None else f"  {line.cpu_s:6.1f} CPU s"
    peak = "" if line.peak_mb is None else f"  {line.peak_mb:7.0f} MB"
    print(f"{line.what:<40}  {line.seconds:6.2f} s{cpu}{peak}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
