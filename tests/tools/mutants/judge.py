"""Judges a mutant: writes it into the copy, runs its witnesses and returns the outcome."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.tools.mutants.copy import environment
from tests.tools.mutants.places import Mutant
from tests.tools.mutants.warm import Warm
from tests.tools.mutants.witnesses import ARGUMENTS, Witnesses, file_of

KILLED, HUNG, SURVIVED, UNSEEN, UNCLEAR = "killed", "hung", "survived", "unseen", "unclear"
NOTICED = (KILLED, HUNG)
"""Outcomes that count as noticed: a suite that hangs is noticed as well as one that fails."""

BUDGET_S = 10.0
"""Time limit for the tests of one mutant, in terms of their durations under coverage measurement."""

FAILED = (1, 2)
"""pytest's exit codes for failed tests, and for a file that could not be read."""
PASSED = (0, 5)
"""All tests passed; or no test with such a name exists any more, which counts against the suite."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a mutant."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    """`killed`, `hung` (longer than the limit), `survived`, `unseen` (no test runs it), `unclear` (pytest itself
    failed)."""
    by: str = ""
    """Name of the first test that failed."""
    tests_count: int = 0

    @property
    def is_noticed(self) -> bool:
        """True if the suite notices the change."""
        return self.outcome in NOTICED

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identity of the change, independent of its line number."""
        return (self.path, self.operator, self.before, self.after)

    def to_json(self) -> dict[str, Any]:
        """Return the fields for the file of results."""
        return asdict(self)


class Judge:
    """One copy and the process that tests it."""

    def __init__(self, copy: Path, witnesses: Witnesses, *, limit_s: float) -> None:
        self._copy = copy
        self._witnesses = witnesses
        self._limit_s = limit_s
        self._warm = Warm(environment(copy), copy)

    def close(self) -> None:
        """End the process."""
        self._warm.close()

    def judge(self, mutant: Mutant) -> Verdict:
        """Try one mutant. Restores the copy afterwards."""
        tests = self._witnesses.of(self._copy, mutant.path, mutant.line, budget_s=BUDGET_S)
        outcome, by = self._try(mutant, tests) if tests else (UNSEEN, "")
        return Verdict(
            mutant.path, mutant.line, mutant.operator, mutant.before, mutant.after, outcome, by, len(tests)
        )

    def _try(self, mutant: Mutant, tests: list[str]) -> tuple[str, str]:
        path = self._copy / mutant.path
        source, was = path.read_bytes(), path.stat()
        try:
            path.write_text(mutant.code, encoding="utf-8")
            files = dict.fromkeys(file_of(test) for test in tests)
            result = self._warm.run([*ARGUMENTS, "-x", *files], limit_s=self._limit_s, order=tests)
        finally:
            path.write_bytes(source)
            # Restore the time stamps, so that existing byte code is valid again.
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        return _outcome(result)


def _outcome(result: dict[str, Any]) -> tuple[str, str]:
    code, by = result["code"], (result.get("failed") or [""])[0]
    if code is None:
        return HUNG, by
    if code in FAILED or code < 0:  # A negative code means that a signal ended the process.
        return KILLED, by
    return (SURVIVED if code in PASSED else UNCLEAR), ""
