"""Which tests run which line, found out once, by coverage.py, with the tests of this process."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import CoverageData

from tests.tools.mutants.warm import Warm

TESTS = (
    "tests/unit",
    "tests/contract",
    "tests/integration/test_redis_broker.py",
    "tests/integration/test_history_cache.py",
    "tests/integration/test_report_result.py",
    "tests/integration/test_report_html.py",
)
"""Beside unit tests and contracts those that run the program in their own process: with a real Redis, and on whole runs."""

QUICK = ("-m", "not slow and not alone and not browser")
"""Tests of seconds, and tests that want the machine, are not run hundreds of times."""

ARGUMENTS = (
    *("-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
    # Hypothesis is there before pytest could rewrite its assertions, which nobody needs.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *QUICK,
)

MEASURED_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who would see a change."""

    lines: dict[str, dict[int, set[str]]]
    """Tests by file and line. Lines that run when the file is imported have none."""
    seconds: dict[str, float]
    """How long each test takes, measured while lines were noted."""
    breadth: dict[str, int]
    """How many lines of ours each test runs: one that runs few is about them."""
    failed: frozenset[str]
    """Tests that fail without any mutant, and are witnesses of nothing."""

    def of(self, copy: Path, path: str, line: int, *, budget_s: float) -> list[str]:
        """The tests to run, the most pertinent first, and together no longer than `budget_s`.

        First those that run the line; where nobody does, since it is run by the import, those that run anything of the
        file, and those that are named after it because they read it as text. Then what else is in the same files: a
        fixture of a whole file is noted with its first test only.
        """
        in_file = self.lines.get(path, {})
        header = statement((copy / path).read_text(encoding="utf-8"), line)
        found = set().union(*(in_file.get(each, set()) for each in header))
        readers: set[str] = set()
        if not found:
            found = set().union(*in_file.values())
            readers = {test for test in self.seconds if test.endswith(f"[{path}]")}
        beside = {test for test in self.seconds if file_of(test) in {file_of(each) for each in found}} - found
        ordered = [*sorted(readers), *self._by_breadth(found), *self._by_breadth(beside)]
        return list(self._within(budget_s, ordered))

    def _by_breadth(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.breadth.get(test, 0), self.seconds[test], test))

    def _within(self, budget_s: float, tests: Iterable[str]) -> Iterator[str]:
        for test in tests:
            if test not in self.failed and self.seconds[test] <= budget_s:
                budget_s -= self.seconds[test]
                yield test


def measure(warm: Warm, copy: Path, data: Path, tests: Iterable[str] = TESTS) -> Witnesses:
    """Run the tests once, which takes minutes. `data` becomes coverage.py's file."""
    there = [name for name in tests if (copy / name).exists()]
    warm.run([*ARGUMENTS, *there], limit_s=MEASURED_LIMIT_S, measure=str(data))
    told = json.loads(Path(f"{data}.json").read_text(encoding="utf-8"))
    return witnesses(data, copy, told)


def witnesses(data: Path, copy: Path, told: dict[str, Any]) -> Witnesses:
    """From coverage.py's data and what the run of the tests told."""
    measured = CoverageData(basename=str(data))
    measured.read()
    lines: dict[str, dict[int, set[str]]] = {}
    breadth: dict[str, int] = defaultdict(int)
    for name in measured.measured_files():
        path = Path(name).relative_to(copy.resolve()).as_posix()
        lines[path] = {
            line: {test for test in tests if test}
            for line, tests in measured.contexts_by_lineno(name).items()
        }
        for tests in lines[path].values():
            for test in tests:
                breadth[test] += 1
    return Witnesses(lines, told["seconds"], dict(breadth), frozenset(told["failed"]))


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement there, without the body that it may have."""
    best = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or 0) + 1
            if line < max(end, node.lineno + 1):
                best = range(node.lineno, max(end, node.lineno + 1))
    return best


def file_of(test: str) -> str:
    """The file in a test's name."""
    return test.partition("::")[0]
