"""What takes many minutes runs when it is asked for, and at no other time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tools import suite

pytestmark = pytest.mark.slow

NIGHTLY = "test_ten_minutes_of_coming_and_going_lose_nothing_and_leave_nothing_behind"


@pytest.mark.parametrize(
    ("arguments", "is_run"),
    [
        ((), False),
        (("-m", "not slow"), False),
        (("-m", "nightly"), True),
        (("-m", "nightly and not slow"), True),
    ],
)
def test_a_nightly_test_is_collected_only_by_its_mark(arguments: tuple[str, ...], is_run: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/nightly", *arguments],
        cwd=suite.ROOT,
        env=suite.environment(),
        capture_output=True,
        text=True,
    )

    assert (NIGHTLY in done.stdout) == is_run, done.stdout + done.stderr
    assert done.returncode == (0 if is_run else 5)


@pytest.mark.parametrize(("strict", "code"), [("0", 0), ("1", 1)])
def test_too_few_open_files_skip_the_soak_for_a_user_and_fail_it_in_ci(strict: str, code: int) -> None:
    few = ["sh", "-c", 'ulimit -n 256 && exec "$@"', "sh"]
    done = subprocess.run(
        [*few, sys.executable, "-m", "pytest", "-q", f"tests/nightly/test_soak.py::{NIGHTLY}"],
        cwd=suite.ROOT,
        env={**suite.environment(), "SIAR_TEST_STRICT": strict},
        capture_output=True,
        text=True,
    )

    assert done.returncode == code, done.stdout + done.stderr
    assert "raise the limit of open files" in done.stdout
