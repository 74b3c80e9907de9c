"""A process with the libraries loaded, from which each run of tests is forked; `Warm` below controls it.

It runs this file by its path, with the copy as its working directory and first on its path, so that `app` and `tests`
are the copy's. Nothing of either is loaded before the fork. Orders and answers are lines of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIBRARIES = (
    "numpy",
    "scipy.stats",
    "msgspec",
    "requests",
    "rich.console",
    "psutil",
    "pytest",
    "hypothesis",
    "redis",
)
"""Libraries that take long to load and are the same for every mutant."""


class Warm:
    """A warm process for a copy."""

    def __init__(self, environment: dict[str, str], copy: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", Path(__file__).resolve()],
            cwd=copy,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], *, limit_s: float, **more: Any) -> dict[str, Any]:
        """Run pytest. Returns `code` (`None` if it exceeded the limit) and `failed`, the first failed test.

        `order`: names of the tests to run, in this order. `measure`: a file for coverage.py's data. Without `order`,
        all tests run in the order found.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        json.dump({"arguments": arguments, "limit_s": limit_s, **more}, self._process.stdin)
        print(file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class Plugin:
    """Runs the selected tests in the given order, and records their outcomes."""

    def __init__(self, order: list[str] | None, coverage: Any) -> None:
        self._order = None if order is None else {name: place for place, name in enumerate(order)}
        self._coverage = coverage
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Deselect tests that are not in the order."""
        if self._order is not None:
            others = [item for item in items if item.nodeid not in self._order]
            config.hook.pytest_deselected(items=others)
            items[:] = sorted(
                (item for item in items if item.nodeid in self._order),
                key=lambda item: self._order[item.nodeid],  # type: ignore[index]
            )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Attribute lines from here on to this test, including its fixtures."""
        if self._coverage is not None:
            self._coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        """Attribute lines from here on to no test."""
        if self._coverage is not None:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a test's duration and failure."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """Record a file that cannot be read."""
        if report.failed:
            self.failed.append(report.nodeid)


def main() -> None:
    """Fork a child for every order."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    for name in LIBRARIES:
        __import__(name)
    for line in sys.stdin:
        order = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            sys.exit(_run_tests(order, write))
        os.close(write)
        code = _ended(child, order["limit_s"])
        result = os.read(read, 1 << 20) if code is not None else b""
        os.close(read)
        print(json.dumps({"code": code, **json.loads(result or b"{}")}), file=answers, flush=True)


def _run_tests(order: dict[str, Any], write: int) -> int:
    """Run pytest in the child, which then ends normally, so that exit handlers stop what it has started."""
    import pytest

    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    coverage = None
    if order.get("measure"):
        from coverage import Coverage

        sys.dont_write_bytecode = False
        coverage = Coverage(data_file=order["measure"], branch=True, source=["app"], config_file=False)
        coverage.start()
    plugin = Plugin(order.get("order"), coverage)
    code = int(pytest.main(order["arguments"], plugins=[plugin]))
    if coverage is not None:
        coverage.stop()
        coverage.save()
        result = {"seconds": plugin.seconds, "failed": plugin.failed}
        Path(order["measure"] + ".json").write_text(json.dumps(result), encoding="utf-8")
    os.write(write, json.dumps({"failed": plugin.failed[:1]}).encode())
    return code


def _ended(child: int, limit_s: float) -> int | None:
    """Wait for a child's exit code; after the limit, kill it with all its children and return `None`."""
    import psutil

    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in [*psutil.Process(child).children(recursive=True), psutil.Process(child)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    main()
