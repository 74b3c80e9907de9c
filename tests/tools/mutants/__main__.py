"""Would a test notice if this line said something else? `python -m tests.tools.mutants` asks a sample of small changes.

It works in clones of a commit in the temporary folder, never in the checkout: what is not committed is not tried.
It needs `pip install -r tests/requirements-mutants.txt` beside what `./siar test` has installed.

    --seed N         of the draw (default 7); a place keeps its turn as long as its line stays as it is
    --count N        mutants (default 300)
    --only PATH      a package or file instead of core, broker, fan-out and analysis; repeatable
    --tests PATH     tests to choose witnesses from instead of those of `witnesses.TESTS`; repeatable
    --limit-s N      for the tests of one mutant (default 120); what takes longer counts as noticed
    --minutes N      begin no mutant later than that (default: none); those that were tried are a sample all the same,
                     since they are drawn in random order
    --processes N    beside each other (default 2)
    --again PATH     try only what an earlier --json lists as not noticed, and keep its other verdicts
    --json PATH      every verdict, written as they come
    --list           only print the mutants

Exit code 1 when less than 85 % are noticed.
"""

from __future__ import annotations

import argparse
import json
import math
import queue
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.tools.mutants import page
from tests.tools.mutants.copy import clone, commit, environment
from tests.tools.mutants.judge import Judge, Verdict
from tests.tools.mutants.places import PACKAGES, Mutant, sample
from tests.tools.mutants.warm import Warm
from tests.tools.mutants.witnesses import TESTS, Witnesses, measure

NOTICED_MIN_PERCENT = 85.0
"""What the suite is held to; docs/mutation.md has what was found."""


def main() -> int:
    """As a command."""
    options = _options()
    with clone() as copy:
        mutants = sample(copy, seed=options.seed, count=options.count, packages=options.only or PACKAGES)
        kept: list[Verdict] = []
        if options.again:
            kept, mutants = _again(options.again, mutants)
        if options.list:
            for each in mutants:
                print(f"{each.name}\n  - {each.before}\n  + {each.after}")
            return 0
        print(f"{len(mutants)} mutants of {commit(copy)[:12]}, seed {options.seed}", flush=True)
        copies = _prepared(copy, options.processes)
        witnesses = _witnesses(copies[0], options.tests or TESTS)
        for further in copies[1:]:
            # With the byte code that the run has left, the tests' own included.
            shutil.copytree(copy, further, symlinks=True)
        verdicts = kept
        for verdict in _judged(copies, witnesses, mutants, options):
            verdicts.append(verdict)
            if options.json:
                options.json.write_text(json.dumps([each.to_json() for each in verdicts], indent=1) + "\n")
    print("\n".join(["", *page.table(verdicts), "", *page.survivors(verdicts)]))
    return 0 if page.share(verdicts) >= NOTICED_MIN_PERCENT else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", action="append")
    parser.add_argument("--tests", action="append")
    parser.add_argument("--limit-s", type=float, default=120.0)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def _again(path: Path, mutants: Sequence[Mutant]) -> tuple[list[Verdict], list[Mutant]]:
    """The verdicts that stand, and the mutants that are tried again."""
    earlier = [Verdict(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    open_keys = {each.key for each in earlier if not each.is_noticed}
    again = [each for each in mutants if (each.path, each.operator, each.before, each.after) in open_keys]
    return [each for each in earlier if each.is_noticed], again


def _prepared(copy: Path, count: int) -> list[Path]:
    """The folders to work in, of which the first is there."""
    return [copy, *(copy.with_name(f"copy-{number}") for number in range(1, count))]


def _witnesses(copy: Path, tests: Sequence[str]) -> Witnesses:
    warm = Warm(environment(copy), copy)
    try:
        found = measure(warm, copy, copy.with_name("coverage"), tests)
    finally:
        warm.close()
    print(f"{len(found.seconds)} tests noted, {len(found.failed)} left out as failing", flush=True)
    for name in sorted(found.failed):
        print(f"  {name}", flush=True)
    return found


def _judged(
    copies: Sequence[Path], witnesses: Witnesses, mutants: Sequence[Mutant], options: argparse.Namespace
) -> Iterator[Verdict]:
    """Every verdict, printed as it comes."""
    end_s = time.monotonic() + 60 * options.minutes
    free: queue.Queue[Judge] = queue.Queue()
    judges = [Judge(copy, witnesses, limit_s=options.limit_s) for copy in copies]
    for each in judges:
        free.put(each)

    def judged(mutant: Mutant) -> Verdict | None:
        if time.monotonic() > end_s:
            return None
        judge = free.get()
        try:
            return judge.judge(mutant)
        finally:
            free.put(judge)

    with ThreadPoolExecutor(len(judges)) as pool:
        for number, verdict in enumerate(pool.map(judged, mutants), 1):
            if verdict is not None:
                print(
                    f"{number} {verdict.outcome} {verdict.path}:{verdict.line} {verdict.operator} {verdict.by}"
                )
                sys.stdout.flush()
                yield verdict
    for each in judges:
        each.close()


if __name__ == "__main__":
    sys.exit(main())
