"""`./siar test`: format, lint, types and JavaScript, two at a time, then pytest.

    ./siar test                  everything but the tests marked `slow` or `nightly`
    ./siar test --unit           only what needs no server and no browser: the inner loop
    ./siar test --all            the slow ones too: the gate, which CI runs
    ./siar test --nightly        only those marked `nightly`; `--nightly FILE ...` only those in these files
    ./siar test --nightly --list when each nightly file last passed, at which commit, and which are due
    ./siar test -k clock         any other argument goes to pytest, and then only pytest runs

Tests run four at a time, since most of them wait. Up to three that fail run once more at the end, with nothing beside
them; one that passes then is printed as `FLAKY` and is no failure. What measures time is nightly and never part of the
gate, whose last line names the nightly files that are due. Nightly tests marked `alone` run with nothing beside them.
A tool that this machine lacks (Node, Chromium) skips what needs it, with a sentence that says how to get it; with
SIAR_TEST_STRICT=1, which CI sets, it is a failure. The durations of the slowest files are printed at the end.
Every step runs even if one before it failed. Exit codes: 0 all good, 1 something failed.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from app.cli.output import OutputLost, guarded
from app.core.exit_codes import EXIT_INTERRUPTED
from tests.tools import nightly

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

JS_TOOLS = ROOT / "tests" / "js"
"""Where the JavaScript tools are declared, locked and installed."""

Command = tuple[str | Path, ...]


class ComponentMissing(Exception):
    """A tool that the machine lacks; `str()` says which, and how to get it."""


class NothingToCheck(Exception):
    """The files that a step would check do not exist; `str()` says which."""


@dataclass(frozen=True, slots=True)
class Step:
    """One named check."""

    name: str
    command: Callable[[], Command]
    """Finds the tool and returns the command line; may raise ComponentMissing or NothingToCheck."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step."""

    name: str
    word: str
    """`ok`, `skipped`, `nothing` or `FAILED`."""
    duration_s: float
    text: str = ""
    """The tool's output, or why it was not run."""

    @property
    def line(self) -> str:
        """One line for people, with the reason if the step did not run."""
        reason = f"  {self.text}" if self.word in ("skipped", "nothing") else ""
        return f"{self.word:<8} {self.name:<20} {self.duration_s:6.1f} s{reason}"


def main(argv: list[str]) -> int:
    """Run the suite as `argv` asks (without the word `test`), print as it goes, and return the exit code."""
    if argv in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    started_s = time.monotonic()
    if argv == ["--nightly", "--list"]:
        print(nightly.listing())
        return 0
    arguments = [argument for argument in argv if argument not in ("--all", "--nightly", "--unit")]
    with tempfile.TemporaryDirectory(prefix="siar-test-") as folder:
        reports = Path(folder)
        if "--nightly" in argv:
            outcomes = run_nightly(arguments or list(nightly.triggers()), reports)
        elif "--unit" in argv:
            outcomes = [run_pytest("pytest, unit", (*UNIT, *from_root(arguments)), reports)]
        elif arguments:
            outcomes = [run_pytest("pytest", with_default_marker(argv, from_root(arguments)))]
        else:
            outcomes = [*run_checks(), run_gate(reports, gate_selection(is_all="--all" in argv))]
        print(durations(reports), end="")
    print(summary(outcomes, time.monotonic() - started_s), flush=True)
    if "--all" in argv and not arguments:
        print(nightly.due_line(), flush=True)
    return 1 if any(outcome.word == "FAILED" for outcome in outcomes) else 0


UNIT = ("-n", "2", "--dist", "loadfile", "-m", "not slow and not alone and not nightly", "tests/unit")


def gate_selection(*, is_all: bool) -> tuple[str, ...]:
    """Return pytest's arguments for the gate: everything, four files at a time; slow tests only with `--all`.

    Nightly tests are never part of it: tests/conftest.py deselects them where no marker asks for them.
    """
    # In the order of folders: browser tests, which take longest, first. xdist would start files with the most tests
    # first.
    together = ("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")
    return (*together, *(() if is_all else ("-m", "not slow")))


def run_gate(reports: Path, selection: Sequence[str]) -> Outcome:
    """Run the selected tests; run up to MAX_FLAKY that fail once more, and announce those that pass then.

    pytest's cache says which failed; it is in the folder of the reports, so that no earlier run's failures are in it.
    """
    cached = ("-o", f"cache_dir={reports / 'cache'}")
    first = run_pytest("pytest", (*cached, *selection), reports)
    failed = last_failed(reports)
    if first.word == "ok" or not 0 < len(failed) <= MAX_FLAKY:
        return first
    only_failed = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none")
    again = run_pytest("pytest, failed again", (*cached, *selection, *only_failed), reports)
    for test in sorted(failed - last_failed(reports)):
        print(f"FLAKY {test}", flush=True)
    return Outcome(first.name, again.word, first.duration_s + again.duration_s)


MAX_FLAKY = 3
"""Tests that may fail once in a run of the gate. More point at the change, or at a gate that is not worth running."""


def last_failed(reports: Path) -> set[str]:
    """Return the node ids of the tests that failed when they last ran, from pytest's cache."""
    file = reports / "cache" / "v" / "cache" / "lastfailed"
    return set(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else set()


def run_nightly(files: Sequence[str], reports: Path) -> list[Outcome]:
    """Run nightly tests, four files at a time, then those that are `alone`, file by file; record files that pass."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(lambda file: run_file(file, "nightly and not alone", reports), files))
    marked = {str(path.relative_to(ROOT)) for path in files_that_mark("alone")}
    for index, file in enumerate(files):
        if file in marked:
            outcomes[index] = both(outcomes[index], run_file(file, "nightly and alone", reports))
        if outcomes[index].word == "ok" and file in nightly.triggers():
            passed_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
            nightly.record(file, commit=_commit(), passed_at=passed_at, duration_s=outcomes[index].duration_s)
    return outcomes


def run_file(file: str, markers: str, reports: Path) -> Outcome:
    """Run the tests of one file that have these markers, and announce the outcome; a file without such tests is ok."""
    name = f"{Path(file).stem}, {markers}"
    started_s = time.monotonic()
    done = subprocess.run(
        python_tool("pytest", "-q", "-m", markers, _junit(reports, name), ROOT / file),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        text=True,
        errors="replace",
        check=False,
    )
    word = "ok" if done.returncode in (0, NO_TESTS) else "FAILED"
    outcome = Outcome(name, word, time.monotonic() - started_s, done.stdout)
    announce(outcome)
    return outcome


NO_TESTS = 5
"""pytest's exit code where the selection is empty."""


def both(first: Outcome, second: Outcome) -> Outcome:
    """Return the combined outcome of two runs of a file."""
    word = "ok" if first.word == second.word == "ok" else "FAILED"
    return Outcome(second.name, word, first.duration_s + second.duration_s)


def _commit() -> str:
    done = subprocess.run(("git", "rev-parse", "HEAD"), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def durations(reports: Path) -> str:
    """Return the sum by kind of test and the twenty slowest files, from pytest's JUnit reports; empty without one."""
    files: dict[str, float] = defaultdict(float)
    kinds: dict[str, float] = defaultdict(float)
    for path in reports.glob("*.xml"):
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name, duration_s = case.get("classname", ""), float(case.get("time", 0))
            files[name] += duration_s
            kinds[name.split(".")[1] if "." in name else name] += duration_s
    if sum(kinds.values()) < SHOWN_FROM_S:
        return ""
    slowest = sorted(files.items(), key=lambda each: -each[1])[:20]
    return "".join(
        f"{duration_s:8.1f} s  {name}\n" for name, duration_s in [*sorted(kinds.items()), *slowest]
    )


SHOWN_FROM_S = 60.0
"""Durations of shorter runs are not worth showing."""


def strict() -> bool:
    """Tell whether a missing component is a failure and not a skip."""
    return os.environ.get("SIAR_TEST_STRICT", "") not in ("", "0")


def summary(outcomes: Sequence[Outcome], duration_s: float) -> str:
    """Return the last line, which names the steps that failed or did not run."""
    of = {word: [o.name for o in outcomes if o.word == word] for word in ("ok", "skipped", "FAILED")}
    parts = [f"{len(of['ok'])} of {len(outcomes)} steps ok"]
    if of["skipped"]:
        parts.append(f"skipped: {', '.join(of['skipped'])}")
    if of["FAILED"]:
        parts.append(f"FAILED: {', '.join(of['FAILED'])}")
    return f"siar test: {'; '.join(parts)}; {duration_s:.0f} s"


# --- the checks before pytest -------------------------------------------------------------------------------


def run_checks() -> list[Outcome]:
    """Run every check, two at a time, and announce each in order."""
    steps = [
        Step("mypy --strict", mypy),
        Step("ruff format --check", lambda: python_tool("ruff", "format", "--check", "--quiet", ROOT)),
        Step("ruff check", lambda: python_tool("ruff", "check", "--quiet", ROOT)),
    ]
    outcomes = []
    # First and alone, so that steps that need the tools do not install them concurrently.
    if js_tools_are_stale():
        outcomes.append(run_step(Step("npm ci", install_step)))
        announce(outcomes[0])
    if not js_tools_are_stale():
        steps += [
            Step("prettier --check", prettier),
            Step("tsc --checkJs", typescript),
            Step("node --test", node_tests),
        ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for outcome in pool.map(run_step, steps):
            announce(outcome)
            outcomes.append(outcome)
    return outcomes


def run_step(step: Step) -> Outcome:
    """Run one step, and return its outcome."""
    started_s = time.monotonic()
    try:
        done = subprocess.run(
            step.command(),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except NothingToCheck as nothing:
        word, text = "nothing", str(nothing)
    except ComponentMissing as missing:
        word, text = ("FAILED" if strict() else "skipped"), str(missing)
    else:
        word, text = ("FAILED" if done.returncode else "ok"), done.stdout
    return Outcome(step.name, word, time.monotonic() - started_s, text)


def announce(outcome: Outcome) -> None:
    """Print a step's line and, if it failed, the tool's output."""
    print(outcome.line, flush=True)
    if outcome.word == "FAILED" and outcome.text.strip():
        print(outcome.text.rstrip(), flush=True)


def python_tool(name: str, *arguments: str | Path) -> Command:
    """Return the command line of a tool installed with this interpreter."""
    return (sys.executable, "-m", name, *arguments)


def mypy() -> Command:
    """Return the command that type-checks every Python file."""
    return python_tool("mypy", "app", "loadtests", "tests", "gunicorn.conf.py", "wsgi.py")


def prettier() -> Command:
    """Return the command that checks the format of everything that is served unchanged."""
    require_files("static", "*.js")
    return js_tool("prettier", "--check", "--log-level", "warn", "static")


def typescript() -> Command:
    """Return the command that checks the JSDoc types of the browser's modules listed in tsconfig.json."""
    require_files("static/js", "*.js")
    return js_tool("tsc", "-p", "tsconfig.json")


def node_tests() -> Command:
    """Return the command for the JavaScript tests, by file, as `node --test DIRECTORY` differs between versions."""
    is_test = re.compile(r"(^|[._-])test([._-]|$)")
    files = sorted(
        path
        for path in JS_TOOLS.rglob("*.*js")
        if path.suffix in (".js", ".mjs", ".cjs")
        and is_test.search(path.stem)
        and "node_modules" not in path.parts
    )
    if not files:
        raise NothingToCheck("no *.test.js below tests/js")
    install_js_tools()
    return (require_tool("node"), "--test", *files)


def require_files(directory: str, pattern: str) -> None:
    """Raise NothingToCheck unless a file of ours is there."""
    if not any("vendor" not in path.parts for path in (ROOT / directory).rglob(pattern)):
        raise NothingToCheck(f"no {pattern} below {directory}")


# --- JavaScript tools ---------------------------------------------------------------------------------------


def require_tool(name: str) -> Path:
    """Return the path of `node` or `npm`; raises ComponentMissing."""
    found = shutil.which(name)
    if found is None:
        raise ComponentMissing(
            f"JavaScript is not checked: {name} is not on PATH; install Node.js 18 or newer "
            "(Debian, Ubuntu: apt install nodejs npm)"
        )
    return Path(found)


def js_tool(name: str, *arguments: str) -> Command:
    """Return the command line of a tool from tests/js/package.json."""
    install_js_tools()
    return (require_tool("node"), JS_TOOLS / "node_modules" / ".bin" / name, *arguments)


def js_tools_are_stale() -> bool:
    """Tell whether tests/js/node_modules was made from another lock file, or not to its end."""
    lock, made_from = JS_TOOLS / "package-lock.json", JS_TOOLS / "node_modules" / ".made-from.json"
    return not (made_from.is_file() and filecmp.cmp(lock, made_from, shallow=False))


def install_js_tools() -> Path:
    """Return tests/js/node_modules, after `npm ci` if it is stale; raises ComponentMissing."""
    modules = JS_TOOLS / "node_modules"
    if js_tools_are_stale():
        command = (require_tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        made = subprocess.run(
            command, cwd=JS_TOOLS, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise ComponentMissing(
                f"JavaScript is not checked: npm could not install tests/js (offline?): {made.stderr.strip()[-500:]}"
            )
        # Written last: without it, node_modules is incomplete.
        shutil.copyfile(JS_TOOLS / "package-lock.json", modules / ".made-from.json")
    return modules


def install_step() -> Command:
    """Return a command after `npm ci`, which is a step of its own so that its time is not counted as another tool's."""
    install_js_tools()
    return (require_tool("node"), "--version")


# --- pytest -------------------------------------------------------------------------------------------------


def files_that_mark(marker: str) -> list[Path]:
    """Return the test files in which a test, or the module, has the marker.

    tests/conftest.py ensures that no test gets it in another way.
    """
    wanted = f"pytest.mark.{marker}"
    return [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if wanted in path.read_text(encoding="utf-8")
    ]


def run_pytest(name: str, arguments: Sequence[str], reports: Path | None = None) -> Outcome:
    """Run pytest on our terminal, from the checkout's root; `reports` gets a JUnit file."""
    started_s = time.monotonic()
    if reports is not None:
        arguments = (_junit(reports, name), *arguments)
    done = subprocess.run(
        python_tool("pytest", *arguments), cwd=ROOT, stdin=subprocess.DEVNULL, env=environment(), check=False
    )
    # pytest's code for an empty selection counts as failed too: otherwise, a typing error in -k would look like a pass.
    return Outcome(name, "FAILED" if done.returncode else "ok", time.monotonic() - started_s)


def _junit(reports: Path, name: str) -> str:
    return f"--junitxml={reports / name.replace(' ', '-')}.xml"


def environment() -> dict[str, str]:
    """Return pytest's environment: ours, with our `app` first on the path even if `./siar` did not put it there."""
    others = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), *([others] if others else [])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def with_default_marker(argv: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Return the caller's arguments, preceded by `not slow` unless the caller selects markers."""
    chosen = "--all" in argv or selects_markers(arguments)
    return [*(() if chosen else ("-m", "not slow")), *arguments]


def selects_markers(arguments: Sequence[str]) -> bool:
    """Tell whether the caller chose tests by marker or by exact name, which our default must not overrule."""
    return any(argument.startswith("-m") or "::" in argument for argument in arguments)


def from_root(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with paths made absolute, because pytest runs from the checkout's root."""
    if Path.cwd() == ROOT:
        return list(arguments)
    absolute = []
    for argument in arguments:
        path, *test = argument.split("::")
        exists = not argument.startswith("-") and Path(path).exists()
        absolute.append("::".join([str(Path(path).resolve()), *test]) if exists else argument)
    return absolute


def program() -> int:
    """Run the suite as the command line asks; return the exit code."""
    try:
        return main(sys.argv[1:])
    except OutputLost:
        raise
    except KeyboardInterrupt:
        print("siar test: stopped.", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(guarded(program))
