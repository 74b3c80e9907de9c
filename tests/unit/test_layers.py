"""Imports between the folders of app/ go down, and nowhere in a circle."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.imports import (
    APP,
    BASICS,
    ROOT,
    TIERS,
    children,
    cycle,
    files_of,
    imported_modules,
    imports_of,
    module_name,
    modules,
    packages,
    path_of,
    reached_from,
)
from tests.tools import suite

MAY_IMPORT = {
    "app.server.clock_process": {"app.clock", "app.core"},
}
"""Modules that stay small. The clock process must answer in microseconds."""

FREE_OF_GREEN_THREADS = ("app.lab",)
WITHOUT_NUMPY = {
    "app.server.factory",
    "app.server.wsgi.worker",
    "app.lab.run.recorder",
    "app.lab.run.client_process",
}
GREEN_THREADS_AND_WEB = {"eventlet", "gevent", "flask"}


@pytest.mark.parametrize(
    ("module", "is_package", "source", "expected"),
    [
        ("app.server.web", False, "import app.clock", ["app.clock"]),
        ("app.server.web", False, "from app import clock, core", ["app.clock", "app.core"]),
        ("app.server.pages", False, "from . import auth", ["app.server.auth"]),
        ("app.server.pages", False, "from ..core.units import MS", ["app.core.units.MS"]),
        ("app.server", True, "from .auth import check", ["app.server.auth.check"]),
        ("app.clock", False, "def f():\n    from app import cli", ["app.cli"]),
        ("app.clock", False, "if TYPE_CHECKING:\n    import app.cli as c", ["app.cli"]),
    ],
)
def test_an_import_is_seen_however_it_is_written(
    module: str, is_package: bool, source: str, expected: list[str]
) -> None:
    assert list(imported_modules(source, module, is_package=is_package)) == expected


def test_app_has_six_folders_and_a_few_modules_that_all_may_import() -> None:
    there = {path.stem for path in APP.glob("*.py")} | {
        path.parent.name for path in APP.glob("*/__init__.py")
    }

    assert there == {*TIERS, *BASICS, "__init__", "__main__"}


def test_a_folder_imports_only_from_those_below_it() -> None:
    allowed = {tier: {*TIERS[rank:], *BASICS} for rank, tier in enumerate(TIERS)}
    allowed |= {"core": {"core"}, "__main__": {"cli"}}
    allowed |= {basic: {*BASICS, "core"} for basic in BASICS}

    wrong = [
        f"{module}: {name}"
        for module, imported in modules().items()
        for name in imported
        if name.split(".")[1] not in allowed[module.split(".")[1]]
    ]

    assert not wrong


@pytest.mark.parametrize("module", MAY_IMPORT)
def test_a_module_that_stays_small_imports_little(module: str) -> None:
    wrong = [name for name in modules()[module] if not name.startswith(tuple(MAY_IMPORT[module]))]

    assert not wrong


def test_modules_import_each_other_one_way() -> None:
    assert cycle(modules()) == []


def test_what_stands_in_one_folder_imports_each_other_one_way() -> None:
    """Files and folders of each package, a folder as a whole."""
    assert {package: found for package in packages() if (found := cycle(children(package)))} == {}


def test_app_itself_imports_nothing() -> None:
    assert imports_of(APP / "__init__.py") == []


def test_core_needs_the_standard_library_only() -> None:
    wrong = [
        f"{module_name(path)}: {name}"
        for path in files_of(APP / "core")
        for name in imports_of(path)
        if name.split(".")[0] not in {"app", *sys.stdlib_module_names}
    ]

    assert not wrong


def test_transports_never_import_each_other() -> None:
    assert all(imported <= {"base"} for imported in children("app.server.transports").values())


def test_load_tests_know_the_core_only() -> None:
    wrong = [
        f"{path.name}: {name}"
        for path in files_of(ROOT / "loadtests")
        for name in imports_of(path)
        if name.startswith("app") and not name.startswith("app.core.")
    ]

    assert not wrong


def test_the_server_and_its_clients_never_load_numpy() -> None:
    """Thirty megabytes and threads of its own, in processes whose cost is being measured."""
    found = reached_from(WITHOUT_NUMPY)

    assert len(found) > len(WITHOUT_NUMPY)
    assert [
        name for name in found if any(each.startswith("numpy") for each in imports_of(path_of(name)))
    ] == []


@pytest.mark.parametrize("package", FREE_OF_GREEN_THREADS)
def test_the_lab_loads_neither_green_threads_nor_flask(package: str) -> None:
    """With all its modules, in a fresh interpreter, since this one has loaded them already."""
    program = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({package!r})\n"
        "for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    if not found.name.endswith('.__main__'):\n"
        "        importlib.import_module(found.name)\n"
        f"print(*sorted({GREEN_THREADS_AND_WEB!r} & set(sys.modules)))\n"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=suite.environment(), capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
