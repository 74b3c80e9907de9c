"""Witnesses: which tests run which line, determined once with coverage.py, for code run in the tests' own process."""

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
"""Unit and contract tests, and those that run the program in their own process: with a real Redis, and on whole
runs."""

QUICK = ("-m", "not slow and not alone and not browser")
"""Excludes tests that take seconds or need the whole machine, because witnesses run hundreds of times."""

ARGUMENTS = (
    *("-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
    # Hypothesis is loaded before pytest could rewrite its assertions, which is not needed.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *QUICK,
)

MEASURED_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The tests that would notice a change of a line."""

    lines: dict[str, dict[int, set[str]]]
    """Tests by file and line. Lines that run at import have none."""
    seconds: dict[str, float]
    """Duration of each test under coverage measurement."""
    breadth: dict[str, int]
    """Number of our lines that each test runs; a test that runs few is specific to them."""
    failed: frozenset[str]
    """Tests that fail without any mutant, and so are no witnesses."""

    def of(self, copy: Path, path: str, line: int, *, budget_s: float) -> list[str]:
        """Return the tests to run, the most specific first, with a total duration of at most `budget_s`.

        Tests that run the line come first. A line that runs at import has none; then these are tests that run anything
        of the file, and tests named after the file because they read it as text. Other tests of the same test files
        follow, because a fixture of a whole file is attributed to its first test only.
        """
        in_file = self.lines.get(path, {})
        header = statement((copy / path).read_text(encoding="utf-8"), line)
        found = set().union(*(in_file.get(each, set()) for each in header))
        readers: set[str] = set()
        if not found:
            found = set().union(*in_file.values())
            readers = {test for test in self.seconds if test.endswith(f"[{path}]")}
        same_files = {
            test for test in self.seconds if file_of(test) in {file_of(each) for each in found}
        } - found
        ordered = [*sorted(readers), *self._by_breadth(found), *self._by_breadth(same_files)]
        return list(self._within(budget_s, ordered))

    def _by_breadth(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.breadth.get(test, 0), self.seconds[test], test))

    def _within(self, budget_s: float, tests: Iterable[str]) -> Iterator[str]:
        for test in tests:
            if test not in self.failed and self.seconds[test] <= budget_s:
                budget_s -= self.seconds[test]
                yield test


def measure(warm: Warm, copy: Path, data: Path, tests: Iterable[str] = TESTS) -> Witnesses:
    """Run the tests once, which takes minutes. `data`: path for coverage.py's file."""
    there = [name for name in tests if (copy / name).exists()]
    warm.run([*ARGUMENTS, *there], limit_s=MEASURED_LIMIT_S, measure=str(data))
    results = json.loads(Path(f"{data}.json").read_text(encoding="utf-8"))
    return witnesses(data, copy, results)


def witnesses(data: Path, copy: Path, results: dict[str, Any]) -> Witnesses:
    """Combine coverage.py's data with the results of the test run."""
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
    return Witnesses(lines, results["seconds"], dict(breadth), frozenset(results["failed"]))


def statement(source: str, line: int) -> range:
    """Return the lines of the innermost statement, without its body."""
    best = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or 0) + 1
            if line < max(end, node.lineno + 1):
                best = range(node.lineno, max(end, node.lineno + 1))
    return best


def file_of(test: str) -> str:
    """Return the file in a test's name."""
    return test.partition("::")[0]
