"""Writes a mutant into the copy, runs its witnesses and says what became of it."""

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
"""A suite that never ends is noticed as well as one that fails."""

BUDGET_S = 10.0
"""Of tests for one mutant, as long as they took with their lines noted."""

FAILED = (1, 2)
"""pytest's exit codes: tests failed, or a file could not be read."""
PASSED = (0, 5)
"""All passed, or none of the tests is found under its name any more, which we count against the suite."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    """`killed`, `hung` (longer than the limit), `survived`, `unseen` (no test runs it), `unclear` (pytest itself failed)."""
    by: str = ""
    """The first test that failed."""
    tests_count: int = 0

    @property
    def is_noticed(self) -> bool:
        """Whether the suite would have told."""
        return self.outcome in NOTICED

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is, wherever its line has moved."""
        return (self.path, self.operator, self.before, self.after)

    def to_json(self) -> dict[str, Any]:
        """For the file of results."""
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
        """Try one. The copy is as before afterwards."""
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
            told = self._warm.run([*ARGUMENTS, "-x", *files], limit_s=self._limit_s, order=tests)
        finally:
            path.write_bytes(source)
            # The byte code that was made before is good again.
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        return _outcome(told)


def _outcome(told: dict[str, Any]) -> tuple[str, str]:
    code, by = told["code"], (told.get("failed") or [""])[0]
    if code is None:
        return HUNG, by
    if code in FAILED or code < 0:  # Below zero: a signal ended it.
        return KILLED, by
    return (SURVIVED if code in PASSED else UNCLEAR), ""
