"""Lines and branches that the unit and contract tests run: `python -m tests.tools.coverage_report [--missing]`.

It covers core, broker, fan-out and analysis, in a clone of the commit. Only code run in the tests' own process is
counted. Code run by servers that they start is not, so the figures are a lower bound. It needs `pip install -r
tests/requirements-mutants.txt` in addition to what `./siar test` has installed.

    --only PATH    a package or file instead; repeatable
    --tests PATH   tests to run instead of those of `witnesses.TESTS`; repeatable
    --missing      name, file by file, the lines and branches that no test runs
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coverage import Coverage

from tests.tools.mutants.copy import clone, commit, environment
from tests.tools.mutants.places import PACKAGES
from tests.tools.mutants.warm import Warm
from tests.tools.mutants.witnesses import TESTS, measure

Summaries = Mapping[str, dict[str, Any]]
"""coverage.py's JSON by file, as paths from the root."""


def main() -> int:
    """Run as a command. Returns the exit code."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", action="append")
    parser.add_argument("--tests", action="append")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    packages = options.only or PACKAGES
    with clone() as copy:
        print(f"Commit {commit(copy)[:12]}.\n", flush=True)
        files = _measured(copy, options.tests or TESTS)
    print("\n".join(table(files, packages)))
    if options.missing:
        print("\n" + "\n".join(missing(files, packages)))
    return 0


def _measured(copy: Path, tests: Sequence[str]) -> Summaries:
    data, out = copy.with_name("coverage"), copy.with_name("coverage-report.json")
    warm = Warm(environment(copy), copy)
    try:
        found = measure(warm, copy, data, tests)
    finally:
        warm.close()
    print(f"{len(found.seconds)} tests, {len(found.failed)} of them failed {sorted(found.failed)}\n")
    # coverage.py names files relative to the working directory.
    os.chdir(copy)
    report = Coverage(data_file=data, branch=True, source=["app"], config_file=False)
    report.load()
    report.json_report(outfile=str(out))
    os.chdir(copy.parent)
    files: Summaries = json.loads(out.read_text(encoding="utf-8"))["files"]
    return files


def table(files: Summaries, packages: Sequence[str]) -> Iterator[str]:
    """Yield a row for each package, and one for all."""
    yield "| package | lines | run | branches | taken |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in packages:
        yield _row(f"`{name}`", [files[path]["summary"] for path in files if path.startswith(name)])
    every = [files[path]["summary"] for path in files if path.startswith(tuple(packages))]
    yield _row("together", every)


def missing(files: Summaries, packages: Sequence[str]) -> Iterator[str]:
    """Yield the lines and branches that no test runs."""
    for path, found in sorted(files.items()):
        branches = [f"{start}->{end}" for start, end in found["missing_branches"]]
        if path.startswith(tuple(packages)) and (found["missing_lines"] or branches):
            yield f"{path}: lines {found['missing_lines']}, branches {', '.join(branches) or 'none'}"


def _row(name: str, summaries: Sequence[dict[str, Any]]) -> str:
    def total(member: str) -> int:
        return sum(each[member] for each in summaries)

    lines, branches = total("num_statements"), total("num_branches")
    return (
        f"| {name} | {lines} | {percent(total('covered_lines'), lines)} "
        f"| {branches} | {percent(total('covered_branches'), branches)} |"
    )


def percent(part: int, whole: int) -> str:
    """Return a percentage with one digit; "-" if there is nothing to run."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
