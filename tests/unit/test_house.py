"""Rules of the house that no linter knows."""

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tools import suite

ROOT = Path(__file__).resolve().parents[2]

OURS = ("app", "loadtests", "tests")
NOT_OURS = re.compile(r"\.git|\.venv.*|\.[a-z]+_cache|\.hypothesis|node_modules|runs|vendor|__pycache__")
"""`.git` is a file in a worktree."""

FUNCTION_LINES_MAX = 70
"""Functions fit a screen."""

READS_TIME = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}
WALL_AND_MONOTONIC = re.compile(r"CLOCK_(?:REALTIME|MONOTONIC|BOOTTIME|TAI)")

MAY_READ_TIME = {
    "app/clock.py": "the one place",
    "tests/tools/suite.py": "says how long the checks took, and belongs to no process that measures",
    "app/lab/run/ticker.py": "judges a loop by the kernel's own timer, in its nanoseconds; a lag is no stamp",
    "app/lab/run/client": "another machine's clock by intent: a client reads its own, as a phone does",
}

MACHINE_PATH = re.compile("/(" + "|".join(["work", "farm", "tmp/bash_jobs"]) + ")/")
"""Written in pieces, so as not to find itself."""


@cache
def our_files() -> list[Path]:
    """List the files of the checkout; folders that tools make, tens of thousands of files, are not entered."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [each for each in folders if not NOT_OURS.fullmatch(each)]
        found += [Path(folder) / name for name in names if not NOT_OURS.fullmatch(name)]
    return sorted(found)


def python_files(*names: str) -> list[Path]:
    return [path for path in our_files() if path.suffix == ".py" and name_of(path).startswith(names)]


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def reads_of_time(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of clock functions that the nodes call, hand on, or import by name."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = (
                node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            )
            if node.attr in READS_TIME.get(owner, ()):
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.Call) and "clock_gettime" in ast.unparse(node.func):
            yield from WALL_AND_MONOTONIC.findall(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (a.name for a in node.names if a.name in READS_TIME["time"])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("time.monotonic_ns()", ["time.monotonic_ns"]),
        ("def f(clock=time.time): ...", ["time.time"]),
        ("from time import perf_counter, sleep", ["perf_counter"]),
        ("datetime.datetime.now(UTC)", ["datetime.now"]),
        ("time.clock_gettime_ns(time.CLOCK_MONOTONIC)", ["CLOCK_MONOTONIC"]),
        ("time.sleep(1); clock.now(); datetime.fromtimestamp(0, UTC)", []),
        ("time.clock_gettime_ns(cpu_clock)", []),
        ("timerfd_create(time.CLOCK_MONOTONIC, 0)", []),
    ],
)
def test_a_read_of_time_is_seen_however_it_is_written(source: str, found: list[str]) -> None:
    assert list(reads_of_time(ast.walk(ast.parse(source)))) == found


def test_time_is_read_in_one_place() -> None:
    found = [
        f"{name_of(path)}: {read}"
        for path in python_files("app")
        if not name_of(path).startswith(tuple(MAY_READ_TIME))
        for read in reads_of_time(nodes_of(path))
    ]

    assert not found, "take a Clock from app/clock.py, or give a reason in MAY_READ_TIME"


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{name_of(path)}, {node.name}: {lines} lines"
        for path in python_files(*OURS)
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]

    assert not long


def loose_dataclasses(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of dataclasses that take members which nobody declared, or say outright that they are not frozen."""
    for node in nodes:
        decorators = node.decorator_list if isinstance(node, ast.ClassDef) else []
        for decorator in decorators:
            said = ast.unparse(decorator)
            if not said.startswith("dataclass"):
                continue
            # What is computed once is kept in a dictionary, which slots would take away.
            loose = "slots=True" not in said and "@cached_property" not in ast.unparse(node)
            if loose or "frozen=False" in said:
                yield node.name  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("decorator", "found"),
    [
        ("dataclass(frozen=True, slots=True)", []),
        ("dataclass(slots=True)", []),
        ("dataclass", ["A"]),
        ("dataclass(frozen=True)", ["A"]),
        ("dataclass(frozen=True, slots=False)", ["A"]),
        ("dataclass(frozen=False, slots=True)", ["A"]),
        ("total_ordering", []),
    ],
)
def test_a_loose_dataclass_is_seen(decorator: str, found: list[str]) -> None:
    assert list(loose_dataclasses(ast.walk(ast.parse(f"@{decorator}\nclass A: ...")))) == found


def test_a_value_has_the_members_that_it_declares() -> None:
    """Slotted, and frozen but where a thing of its nature changes."""
    loose = [
        f"{name_of(path)}: {name}"
        for path in python_files("app")
        for name in loose_dataclasses(nodes_of(path))
    ]

    assert loose == []


def text_of(path: Path) -> str:
    """Nothing of what has gone since it was listed: an editor's or another test's file for a moment."""
    try:
        return path.read_text("utf-8", "ignore")
    except FileNotFoundError:
        return ""


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [name_of(path) for path in our_files() if MACHINE_PATH.search(text_of(path))]

    assert our_files()
    assert not found


def test_the_lock_file_names_no_registry() -> None:
    lock = (ROOT / "tests/js/package-lock.json").read_text(encoding="utf-8")

    assert '"resolved"' not in lock, "npm install with tests/js/.npmrc in force leaves it out"


@pytest.mark.parametrize(
    "name",
    [
        "requirements.txt",
        "requirements-https.txt",
        "requirements-report.txt",
        "tests/requirements.txt",
        "tests/requirements-mutants.txt",
    ],
)
def test_every_requirement_is_bounded_on_both_sides_and_says_why(name: str) -> None:
    comment_above = False
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+>=[0-9.]+,<[0-9.]+", line), f"{line!r} lacks a bound"
            assert comment_above, f"{line!r} lacks a comment above it that says what it is for"
        # Several lines may share one comment; an empty line ends it.
        comment_above = line.startswith("#") or (comment_above and bool(line))


def test_the_wrapper_is_plain_posix_shell() -> None:
    shell = shutil.which("dash") or "sh"

    done = subprocess.run([shell, "-n", ROOT / "siar"], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_every_python_file_is_type_checked() -> None:
    checked = {str(argument) for argument in suite.mypy()}

    assert [path for path in map(name_of, python_files("")) if path.split("/")[0] not in checked] == []


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("ok", "siar test: 1 of 1 steps ok; 3 s"),
        ("skipped", "siar test: 0 of 1 steps ok; skipped: tsc; 3 s"),
        ("FAILED", "siar test: 0 of 1 steps ok; FAILED: tsc; 3 s"),
    ],
)
def test_the_suite_ends_with_one_line_that_names_what_went_wrong(word: str, line: str) -> None:
    outcome = suite.Outcome("tsc", word, duration_s=1.0)

    assert suite.summary([outcome], duration_s=3.2) == line


def test_a_tool_that_the_machine_lacks_skips_for_a_user_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking() -> suite.Command:
        raise suite.ComponentMissing("no such tool")

    for_a_user = suite.run_step(suite.Step("tool", lacking))
    monkeypatch.setenv("SIAR_TEST_STRICT", "1")
    in_ci = suite.run_step(suite.Step("tool", lacking))

    assert (for_a_user.word, in_ci.word) == ("skipped", "FAILED")
    assert "no such tool" in for_a_user.line
