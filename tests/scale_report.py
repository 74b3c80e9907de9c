"""How ingest, analysis and report grow with a run: `python -m tests.scale_report`.

Makes runs of three sizes (drawn, and labelled so in their own conditions), each in a fresh process, by the runner's own
ingest: a spool of phones' batches becomes samples, samples become deliveries, deliveries go into the store. Then
`siar report RUN --format html` is run as a user would, and its parts once more by themselves.

    ingest     from the spool to all trials in the store, in seconds; drawing the data is not in it
    report     the whole command, start of Python included: store to one HTML file
    load, analyse, html, files    its parts; `files` is everything that the end of a run writes, deliveries.csv included
    peak       resident memory, the highest moment of the process

Growth is b of log(seconds) = a + b log(deliveries), by least squares over the sizes: 1 is linear. At the full size there
are limits: ingest 60 s, report 30 s, 2 GB. Exit code 99 when one is missed, as for any gate.

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

from app.analysis.analyse import analyse
from app.bench.fit import exponent
from app.measure.store import Store
from app.report.files import write_all
from app.report.html import report_html
from tests.support.large_run import Size, ingest_run

ROOT = Path(__file__).resolve().parents[1]

INGEST_S_MAX, REPORT_S_MAX, PEAK_MB_MAX = 60.0, 30.0, 2000.0
LIMITS_FROM_DELIVERIES = 1_800_000
"""The limits are for this size; a smaller run says nothing about them."""

PARTS = ("ingest_s", "report_s", "load_s", "analyse_s", "html_s", "files_s")
EXIT_GATE = 99


@dataclass(frozen=True, slots=True)
class Line:
    """One size."""

    clients: int
    deliveries: int
    ingest_s: float
    ingest_peak_mb: float
    report_s: float
    report_peak_mb: float
    load_s: float
    analyse_s: float
    html_s: float
    files_s: float
    html_kb: float
    store_mb: float

    @property
    def missed(self) -> list[str]:
        """Limits that it does not keep."""
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
    """One size, each part in a process of its own, so that memory is that part's."""
    run = folder / f"20260101-000000-scale-{size.clients}x{size.notifications}"
    order = json.dumps(asdict(size))
    ingest = _child("ingest", str(run), order)
    html = run / "drawn.html"
    began_s = time.perf_counter()
    report = subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "report", str(run), "--format", "html", "--output", str(html)],
        cwd=ROOT,
    )
    # Like `wait`, and it tells what this one process has used.
    _, status, usage = os.wait4(report.pid, 0)
    report_s = time.perf_counter() - began_s
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"siar report ended with {os.waitstatus_to_exitcode(status)}.")
    parts = _child("parts", str(run))
    return Line(
        clients=size.clients,
        deliveries=size.deliveries,
        ingest_s=ingest["seconds"],
        ingest_peak_mb=ingest["peak_mb"],
        report_s=report_s,
        report_peak_mb=_mb(usage.ru_maxrss),
        load_s=parts["load_s"],
        analyse_s=parts["analyse_s"],
        html_s=parts["html_s"],
        files_s=parts["files_s"],
        html_kb=html.stat().st_size / 1000,
        store_mb=(run / "run.sqlite").stat().st_size / 1e6,
    )


def parts_of(run: Path) -> dict[str, float]:
    """What the parts of a report take, in seconds."""
    clock = [time.perf_counter()]
    with Store.open(run) as store:
        record = store.load()
    clock.append(time.perf_counter())
    analysis = analyse(record)
    clock.append(time.perf_counter())
    report_html(analysis)
    clock.append(time.perf_counter())
    write_all(analysis, run)
    clock.append(time.perf_counter())
    names = ("load_s", "analyse_s", "html_s", "files_s")
    return {name: after - before for name, (before, after) in zip(names, pairwise(clock), strict=True)}


def growth(lines: Sequence[Line]) -> dict[str, float | None]:
    """The exponent of each part over the sizes."""
    return {
        name: exponent([(each.deliveries, getattr(each, name)) for each in lines])
        for name in (*PARTS, "report_peak_mb")
    }


def main(arguments: list[str]) -> int:
    """Measure, print, judge."""
    if arguments[:1] == ["ingest"]:
        seconds = ingest_run(Path(arguments[1]), Size(**json.loads(arguments[2])))
        return _answer({"seconds": seconds, "peak_mb": _mb(getrusage(RUSAGE_SELF).ru_maxrss)})
    if arguments[:1] == ["parts"]:
        return _answer(parts_of(Path(arguments[1])))
    parsed = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="siar-scale-") as temporary:
        folder = parsed.folder or Path(temporary)
        lines = []
        print(_row("deliveries", *PARTS, "ingest MB", "report MB", "html kB", "store MB"))
        for share in sorted(float(text) for text in parsed.shares.split(",")):
            clients = max(1, round(share * parsed.clients))
            size = Size(clients, parsed.notifications, parsed.blocks, parsed.instrument)
            line = measure(folder, size)
            lines.append(line)
            print(_figures(line), flush=True)
    grown = growth(lines)
    print(_row("growth b", *(_text(grown[name]) for name in PARTS), "", _text(grown["report_peak_mb"])))
    missed = [text for line in lines for text in line.missed]
    print("Missed: " + "; ".join(missed) if missed else "No limit was missed.")
    if parsed.json:
        found = {"lines": [asdict(line) for line in lines], "growth": grown, "missed": missed}
        parsed.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return EXIT_GATE if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.scale_report",
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
        [sys.executable, "-P", "-m", "tests.scale_report", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _answer(figures: dict[str, float]) -> int:
    print(json.dumps(figures))
    return 0


def _mb(maxrss: int) -> float:
    """`ru_maxrss` is in KiB on Linux and in bytes on macOS."""
    return maxrss / 1e6 if sys.platform == "darwin" else maxrss * 1024 / 1e6


def _row(*cells: str) -> str:
    return "  ".join(f"{cell:>10}" for cell in cells)


def _figures(line: Line) -> str:
    sizes = (line.ingest_peak_mb, line.report_peak_mb, line.html_kb, line.store_mb)
    return _row(
        f"{line.deliveries:,}",
        *(f"{getattr(line, name):.2f}" for name in PARTS),
        *(f"{size:.0f}" for size in sizes),
    )


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
