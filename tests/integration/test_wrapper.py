"""`./siar` on machines as they are found: in a copied tree with a stub program, offline, with a PATH of our own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.components import require_tool

ROOT = Path(__file__).resolve().parents[2]

TOOLS = ("cmp", "cp", "dirname", "mkdir", "mv", "readlink", "rm", "tail")
"""Every program that the wrapper may use besides Python; all are POSIX but readlink, which is everywhere."""

STUB = """\
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "directory": os.getcwd(), "file": __file__,
                  "settings": [name for name in os.environ if name.startswith("SIAR_")],
                  "safe": sys.flags.safe_path}))
"""

FAST_UV = f"""\
for last; do :; done
case " $* " in *" venv "*) exec {os.path.realpath(sys.executable)} -m venv --without-pip "$last" ;; esac
"""

NO_PACKAGES = "# No packages: setting up needs no network.\n"


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout with the real wrapper and a stub program."""

    root: Path
    tools: Path
    """On PATH: what any machine has."""
    pythons: Path
    """On PATH too: the Python, if there is one. Without one nothing can be set up."""

    def start(
        self, *arguments: str, siar: Path | None = None, cwd: Path | None = None, **more: str
    ) -> "Done":
        process = self.begin(*arguments, siar=siar, cwd=cwd, **more)
        output, errors = process.communicate(timeout=100)
        return Done(process.returncode, output, errors)

    def begin(
        self, *arguments: str, siar: Path | None = None, cwd: Path | None = None, **more: str
    ) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(self.tools), str(self.pythons)])
        environment = {"PATH": path, "HOME": str(self.root), "PIP_NO_INDEX": "1", **more}
        return subprocess.Popen(
            [siar or self.root / "siar", *arguments],
            cwd=cwd or self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def with_python(self, script: str | None = None) -> "Tree":
        """Put this test's Python on PATH, or a shell script in its place."""
        if script is None:
            (self.pythons / "python3").symlink_to(os.path.realpath(sys.executable))
        else:
            executable(self.pythons / "python3", script)
        return self

    def with_uv(self) -> "Tree":
        """Put a uv on PATH that makes environments without pip: a twentieth of pip's time."""
        executable(self.pythons / "uv", FAST_UV)
        return self


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    output: str
    errors: str

    @property
    def report(self) -> dict[str, object]:
        """What the stub says about how it was started."""
        assert self.code == 0, self.errors
        report = json.loads(self.output)
        assert isinstance(report, dict)
        return report


def make_tree(base: Path) -> Tree:
    tree = Tree(base / "check out", base / "tools", base / "pythons")
    (tree.root / "app").mkdir(parents=True)
    (tree.root / "tests" / "tools").mkdir(parents=True)
    tree.tools.mkdir()
    tree.pythons.mkdir()
    shutil.copy(ROOT / "siar", tree.root)
    (tree.root / "app" / "__init__.py").touch()
    (tree.root / "app" / "__main__.py").write_text(STUB)
    (tree.root / "tests" / "tools" / "suite.py").write_text(STUB)
    (tree.root / "requirements.txt").write_text(NO_PACKAGES)
    (tree.root / "tests" / "requirements.txt").write_text(NO_PACKAGES)
    (tree.root / "requirements-https.txt").write_text(NO_PACKAGES)
    (tree.root / "requirements-report.txt").write_text(NO_PACKAGES)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tree.tools / tool).symlink_to(found)
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Fresh from a clone: nothing set up, no Python on PATH."""
    return make_tree(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Set up with pip, once for all tests that need that. Its PATH has no Python, so nothing can be built again."""
    tree = make_tree(tmp_path_factory.mktemp("built")).with_python()
    first = tree.start()
    assert first.code == 0, first.errors
    assert first.errors == "siar: setting up .venv (once, about a minute) ...\n"
    return replace(tree, pythons=tree.tools)


def test_an_unchanged_tree_starts_without_setting_anything_up(built: Tree) -> None:
    done = built.start()

    assert done.report["file"] == str(built.root / "app" / "__main__.py")
    assert done.errors == ""


def test_the_program_gets_the_callers_arguments_and_directory(built: Tree, tmp_path: Path) -> None:
    done = built.start("run", "a plan.toml", "", "--x=*", cwd=tmp_path)

    assert done.report["arguments"] == ["run", "a plan.toml", "", "--x=*"]
    assert done.report["directory"] == str(tmp_path)


def test_dash_runs_it_from_the_set_up_to_the_program(tree: Tree, tmp_path: Path) -> None:
    """Debian's sh, without anything that bash adds. Named here, since sh is another shell on other systems."""
    dash = require_tool("dash", "dash")
    tree.with_python().with_uv()

    first, second = (
        tree.start(str(tree.root / "siar"), "run", "a plan.toml", siar=dash, cwd=tmp_path) for _ in range(2)
    )

    assert first.errors == "siar: setting up .venv (once, about a minute) ...\n"
    assert second.errors == ""
    for done in (first, second):
        assert done.report["arguments"] == ["run", "a plan.toml"]
        assert done.report["directory"] == str(tmp_path)


def test_it_finds_itself_through_links(built: Tree, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "absolute").symlink_to(built.root / "siar")
    (tmp_path / "bin" / "siar").symlink_to("../absolute")

    done = built.start(siar=tmp_path / "bin" / "siar", cwd=tmp_path)

    assert done.report["file"] == str(built.root / "app" / "__main__.py")


def test_a_foreign_app_package_in_the_callers_directory_is_never_imported(
    built: Tree, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('hostile')")
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")

    done = built.start(cwd=tmp_path, PYTHONPATH=str(tmp_path / "elsewhere"))

    assert done.report["file"] == str(built.root / "app" / "__main__.py")
    assert done.report["safe"] is True


def test_its_own_variable_does_not_reach_the_program(tree: Tree) -> None:
    python = os.path.realpath(sys.executable)

    done = tree.with_uv().start(SIAR_PYTHON=python, SIAR_PORT="1")

    assert done.report["settings"] == ["SIAR_PORT"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, ["found no python3 on PATH", "install it"]),
        (
            "exit 127  # a version manager's shim without a version",
            ["found no python3 on PATH", "install it"],
        ),
        ("echo 3.9", ["only Python 3.9", "needs Python >= 3.11", "install it"]),
        ("echo 2.7", ["only Python 2.7"]),
        (f'case "$2" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac', ["venv", "apt install"]),
    ],
)
def test_a_machine_without_a_fitting_python_is_told_what_to_install(
    tree: Tree, script: str | None, words: list[str]
) -> None:
    if script:
        tree.with_python(script)

    done = tree.start("demo")

    assert done.code == 3
    assert [word for word in words if word not in done.errors] == []
    assert done.errors.splitlines()[-1].startswith("siar: ")
    assert "Traceback" not in done.errors


def test_a_newer_python_under_its_own_name_is_found_behind_an_old_one(tree: Tree) -> None:
    (tree.pythons / "python3.12").symlink_to(os.path.realpath(sys.executable))

    done = tree.with_uv().with_python("echo 3.9").start()

    assert done.report["arguments"] == []


def test_an_interpreter_asked_for_by_name_is_not_replaced_by_another(tree: Tree) -> None:
    done = tree.with_python().start(SIAR_PYTHON="python3.0")

    assert done.code == 3
    assert "SIAR_PYTHON=python3.0" in done.errors


def test_first_starts_at_once_all_run_and_set_up_once(tree: Tree) -> None:
    tree.with_python().with_uv()

    processes = [tree.begin(str(number)) for number in range(3)]
    outcomes = [(*process.communicate(timeout=100), process.returncode) for process in processes]

    assert [code for _, _, code in outcomes] == [0, 0, 0]
    assert "".join(errors for _, errors, _ in outcomes).count("setting up .venv (once") == 1


@pytest.mark.slow
def test_a_half_made_environment_is_made_again_and_leftovers_go(tree: Tree) -> None:
    """What `kill -9` leaves: no mark in .venv, or a directory that was not renamed yet."""
    (tree.root / ".venv" / "bin").mkdir(parents=True)
    (tree.root / ".venv.new.1" / "bin").mkdir(parents=True)

    done = tree.with_python().with_uv().start()

    assert "setting up .venv" in done.errors
    assert done.report["arguments"] == []
    assert sorted(path.name for path in tree.root.glob(".venv*")) == [".venv", ".venv.lock"]


def test_no_script_of_the_environment_names_the_directory_it_was_built_in(built: Tree) -> None:
    bin_directory = built.root / ".venv" / "bin"

    scripts = [path for path in bin_directory.iterdir() if path.is_file() and not path.is_symlink()]

    assert scripts
    assert [path.name for path in scripts if b".venv.new" in path.read_bytes()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "file", "without"),
    [
        (["test"], "tests/requirements.txt", ["demo"]),
        (["serve", "--https", "ca"], "requirements-https.txt", ["serve"]),
        (["serve", "--port", "0", "--https=self"], "requirements-https.txt", ["serve", "--port", "0"]),
        (["run", "--phones", "3", "--https", "self"], "requirements-https.txt", ["run", "--phones", "3"]),
        (["report", "a", "--format", "html,pdf"], "requirements-report.txt", ["report", "a"]),
        (["report", "a", "--figures=b"], "requirements-report.txt", ["report", "a", "--format", "md"]),
    ],
)
def test_extra_packages_are_installed_by_the_first_command_that_needs_them(
    tree: Tree, command: list[str], file: str, without: list[str]
) -> None:
    tree.with_python().with_uv().start("demo")

    before, first, second, other = (tree.start(*each) for each in (without, command, command, without))

    assert before.errors == ""
    assert first.errors.startswith(f"siar: installing what './siar {command[0]}' needs besides ({file}")
    assert first.report["arguments"] == command[command[0] == "test" :]
    assert (second.errors, other.errors) == ("", "")


@pytest.mark.slow
def test_a_changed_requirement_file_makes_the_environment_again(tree: Tree) -> None:
    tree.with_python().with_uv().start()
    (tree.root / "requirements.txt").write_text(f"{NO_PACKAGES}# Changed.\n")

    changed, unchanged = tree.start(), tree.start()

    assert changed.errors.count("setting up .venv") == 1
    assert (unchanged.code, unchanged.errors) == (0, "")


@pytest.mark.slow
def test_an_environment_whose_python_is_gone_is_made_again(tree: Tree) -> None:
    tree.with_python().with_uv().start()
    for link in (tree.root / ".venv" / "bin").glob("python*"):
        link.unlink()
        link.symlink_to("/nowhere/python3")

    done = tree.start()

    assert done.errors.count("setting up .venv") == 1
    assert done.code == 0


@pytest.mark.slow
def test_pip_sets_up_where_uv_fails(tree: Tree) -> None:
    executable(tree.pythons / "uv", "exit 2")

    done = tree.with_python().start()

    assert done.code == 0, done.errors
    assert "pip" in {path.name for path in (tree.root / ".venv" / "bin").iterdir()}


@pytest.mark.slow
def test_packages_that_cannot_be_installed_show_why_and_what_to_do(tree: Tree) -> None:
    (tree.root / "requirements.txt").write_text("no-such-package>=1,<2\n")

    done = tree.with_python().start("demo")

    assert done.code == 3
    assert "no-such-package" in done.errors
    assert "Offline?" in done.errors.splitlines()[-1]
    assert not (tree.root / ".venv").exists()
    assert not list(tree.root.glob(".venv.new*"))


def test_a_directory_that_cannot_be_written_is_said_plainly(tree: Tree) -> None:
    """A directory in the lock's place stands for a read-only file system, since tests may run as root."""
    (tree.root / ".venv.lock").mkdir()

    done = tree.with_python().start("demo")

    assert done.code == 3
    assert "not writable" in done.errors
