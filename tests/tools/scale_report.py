"""How ingest, analysis and report grow with a run: `python -m tests.tools.scale_report`.

Creates synthetic runs of three sizes, labelled as such in their own conditions, each in a fresh process, by the
runner's own ingest: a spool of phones' batches becomes samples, samples become deliveries, deliveries go into the
store. Then `siar report RUN --format html` is run as a user would, and its parts are run once more separately.

    ingest     from the spool to all trials in the store, without generating the data
    report     the whole command, start of Python included: store to one HTML file
    load, analyse, html, files    parts; `files` is everything that the end of a run writes, deliveries.csv included
    MB         peak of resident memory

`_s` is elapsed time, `_cpu_s` the CPU time of the process: on a busy machine, only the latter is meaningful. Growth is
b of log(CPU seconds) = a + b log(deliveries), by least squares over the sizes: 1 is linear, and fixed costs of every
report make it less. At the full size there are limits: ingest 60 s, report 30 s elapsed, 2 GB. Exit code 99 when one is
missed, as for any gate.

    --clients N        at full size (default 3000)
    --notifications N  each client gets so many, over all trials (default 600)
    --shares A,B,C     of the clients (default 0.1,0.3,1)
    --blocks N         a block is a trial of each of two arms (default 3)
    --instrument       with the server's record of each write: as many rows again
    --folder DIR       where to keep the runs (default: a temporary folder, deleted afterwards)
    --json PATH        the figures as JSON
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from app.core.exit_codes import EXIT_GATE, EXIT_OK
from app.lab.analysis.analyse import analyse
from app.lab.report.files import write_all
from app.lab.report.renderers.html import report_html
from app.store.store import Store
from app.tools.bench.summary import exponent
from tests.support.large_run import Size, ingest_run

ROOT = Path(__file__).resolve().parents[2]

INGEST_S_MAX, REPORT_S_MAX, PEAK_MB_MAX = 60.0, 30.0, 2000.0
LIMITS_FROM_DELIVERIES = 1_800_000
"""The limits are for this size and are not checked for smaller runs."""

CPU = ("ingest_cpu_s", "report_cpu_s", "load_cpu_s", "analyse_cpu_s", "html_cpu_s", "files_cpu_s")
COLUMNS = (
    *(
        "deliveries",
        "ingest_s",
        "ingest_cpu_s",
        "ingest_peak_mb",
        "report_s",
        "report_cpu_s",
        "report_peak_mb",
    ),
    *("load_cpu_s", "analyse_cpu_s", "html_cpu_s", "files_cpu_s", "html_kb", "store_mb"),
)

BUSY = 1.5
"""Load average over five minutes; this program alone causes 1."""


@dataclass(frozen=True, slots=True)
class Line:
    """Measurements of one size."""

    clients: int
    deliveries: int
    ingest_s: float
    ingest_cpu_s: float
    ingest_peak_mb: float
    report_s: float
    report_cpu_s: float
    report_peak_mb: float
    load_cpu_s: float
    analyse_cpu_s: float
    html_cpu_s: float
    files_cpu_s: float
    html_kb: float
    store_mb: float

    @property
    def missed(self) -> list[str]:
        """The limits that were exceeded."""
        if self.deliveries < LIMITS_FROM_DELIVERIES:
            return []
        return [
            f"{name} {value:.1f} > {limit:.0f}"
            for name, value, limit in (
                ("ingest s", self.ingest_s, INGEST_S_MAX),
                ("report s", self.report_s, REPORT_S_MAX),
                ("report MB", self.report_peak_mb, PEAK_MB_MAX),
            )
            if value > limit
        ]


def measure(folder: Path, size: Size) -> Line:
    """Measure one size, each part in its own process, so that memory is attributed to the part."""
    run = folder / f"20260101-000000-scale-{size.clients}x{size.notifications}"
    ingest = _child("ingest", str(run), json.dumps(asdict(size)))
    html = run / "drawn.html"
    report = _report(run, html)
    return Line(
        clients=size.clients,
        deliveries=size.deliveries,
        **ingest,
        **report,
        **_child("parts", str(run)),
        html_kb=html.stat().st_size / 1000,
        store_mb=(run / "run.sqlite").stat().st_size / 1e6,
    )


def parts_of(run: Path) -> dict[str, float]:
    """Return the CPU seconds of the parts of a report."""
    clock = [time.process_time()]
    with Store.open(run) as store:
        record = store.load()
    clock.append(time.process_time())
    analysis = analyse(record)
    clock.append(time.process_time())
    report_html(analysis)
    clock.append(time.process_time())
    write_all(analysis, run)
    clock.append(time.process_time())
    return {name: after - before for name, (before, after) in zip(CPU[2:], pairwise(clock), strict=True)}


def growth(lines: Sequence[Line]) -> dict[str, float | None]:
    """Return the exponent of each part over the sizes."""
    return {
        name: exponent([(each.deliveries, getattr(each, name)) for each in lines])
        for name in (*CPU, "report_peak_mb")
    }


def main(arguments: list[str]) -> int:
    """Measure, print and judge. Returns the exit code."""
    if arguments[:1] == ["ingest"]:
        taken = ingest_run(Path(arguments[1]), Size(**json.loads(arguments[2])))
        return _answer({**taken, "ingest_peak_mb": _mb(getrusage(RUSAGE_SELF).ru_maxrss)})
    if arguments[:1] == ["parts"]:
        return _answer(parts_of(Path(arguments[1])))
    parsed = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="siar-scale-") as temporary:
        folder = parsed.folder or Path(temporary)
        lines = []
        print(_row(*COLUMNS))
        for share in sorted(float(text) for text in parsed.shares.split(",")):
            clients = max(1, round(share * parsed.clients))
            size = Size(clients, parsed.notifications, parsed.blocks, parsed.instrument)
            line = measure(folder, size)
            lines.append(line)
            print(_figures(line), flush=True)
    grown = growth(lines)
    print(_row("growth b", *(_text(grown.get(name)) for name in COLUMNS[1:])))
    if (load := os.getloadavg()[1]) > BUSY:
        print(
            f"The machine was busy with other things (load {load:.1f}): seconds by the clock are theirs too."
        )
    missed = [text for line in lines for text in line.missed]
    print("Missed: " + "; ".join(missed) if missed else "No limit was missed.")
    if parsed.json:
        found = {"lines": [asdict(line) for line in lines], "growth": grown, "missed": missed}
        parsed.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return EXIT_GATE if missed else EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.scale_report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clients", type=int, default=3000)
    parser.add_argument("--notifications", type=int, default=600)
    parser.add_argument("--shares", default="0.1,0.3,1")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--instrument", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    return parser


def _child(*words: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.tools.scale_report", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _report(run: Path, html: Path) -> dict[str, float]:
    """Run the command as a user calls it."""
    began_s = time.perf_counter()
    report = subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "report", str(run), "--format", "html", "--output", str(html)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    # Like `wait`, but it also returns the resources that this process used. Its output fits into a pipe.
    _, status, usage = os.wait4(report.pid, 0)
    taken_s = time.perf_counter() - began_s
    report.returncode = os.waitstatus_to_exitcode(status)
    _, output = report.communicate()
    if report.returncode:
        raise SystemExit(f"siar report ended with {report.returncode}: {output}")
    return {
        "report_s": taken_s,
        "report_cpu_s": usage.ru_utime + usage.ru_stime,
        "report_peak_mb": _mb(usage.ru_maxrss),
    }


def _answer(figures: dict[str, float]) -> int:
    print(json.dumps(figures))
    return 0


def _mb(maxrss: int) -> float:
    """Convert `ru_maxrss`, which is in KiB on Linux and in bytes on macOS."""
    return maxrss / 1e6 if sys.platform == "darwin" else maxrss * 1024 / 1e6


def _row(*cells: str) -> str:
    return "  ".join(f"{cell:>{len(name)}}" for cell, name in zip(cells, COLUMNS, strict=True))


def _figures(line: Line) -> str:
    values = asdict(line)
    return _row(f"{line.deliveries:,}", *(f"{values[name]:.1f}" for name in COLUMNS[1:]))


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
