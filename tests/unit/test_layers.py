"""Imports go down one list only; the drawing in LAYERS is the list."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import suite

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"

LAYERS = (
    {"cli"},
    {"commands"},
    {"load"},
    {"bench", "calibrate", "doctor"},
    {"factory"},
    {"web"},
    {"experiment"},
    {"report"},
    {"services"},
    {"practice"},
    {"source", "transports", "analysis", "deliveries", "operators", "room", "receipts", "archive", "runners"},
    {"instrument", "subscribers"},
    {"fanout"},
    {"broker", "measure"},
    {"serving"},
    {"tls"},
    {"clock", "settings", "catalogues"},
    {"core"},
)
"""From the top down. A part imports from the layers below its own, and from itself, never from its neighbours.

`commands` are what `cli` picks one from, `serving` stands on `clock`,
since waiting for a moment needs the time, and `experiment` on `report`, since a runner with phones writes it itself.
"""

PARTS_WITH_THEIR_OWN_RULE = {
    "__main__": {"cli", "suite"},
    "clock_process": {"clock", "core"},  # stays small: it must answer in microseconds
    "suite": {"nightly"},  # checks the program and is no part of it
    "nightly": set[str](),
}
"""What these may import; only what stands above all layers, or starts them as a process, imports them."""

FREE_OF_GREEN_THREADS = ("app.experiment", "app.analysis", "app.report")
GREEN_THREADS_AND_WEB = {"eventlet", "gevent", "flask"}


def layer_of(part: str) -> int:
    levels = [level for level, parts in enumerate(LAYERS) if part in parts]
    assert levels, f"app.{part} has no layer: register it in LAYERS of {Path(__file__).name}"
    return levels[0]


def allowed_for(part: str) -> set[str]:
    if part in PARTS_WITH_THEIR_OWN_RULE:
        return PARTS_WITH_THEIR_OWN_RULE[part]
    below = LAYERS[layer_of(part) + 1 :]
    extra = set(PARTS_WITH_THEIR_OWN_RULE) - {"__main__"} if part in ("cli", "commands") else set()
    return set().union({part}, extra, *below)


def files_of(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """`transports` of `app.transports.sse`, and nothing of `app` itself."""
    return module.split(".")[1] if "." in module else ""


def imported_modules(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Every absolute name that is imported anywhere in the source, in functions and for types too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(node, module, is_package=is_package)
            # `from app import clock` names a module in its second half, so both halves count.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def absolute_base(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if is_package else module.split(".")[:-1]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imports_of(path: Path) -> list[str]:
    return list(
        imported_modules(
            path.read_text(encoding="utf-8"), module_name(path), is_package=path.name == "__init__.py"
        )
    )


def imports_within_app(path: Path) -> list[str]:
    return [name for name in imports_of(path) if name.split(".")[0] == "app"]


@pytest.mark.parametrize(
    ("module", "is_package", "source", "expected"),
    [
        ("app.web.pages", False, "import app.clock", ["app.clock"]),
        ("app.web.pages", False, "from app import clock, core", ["app.clock", "app.core"]),
        ("app.web.pages", False, "from . import auth", ["app.web.auth"]),
        ("app.web.pages", False, "from ..core.units import MS", ["app.core.units.MS"]),
        ("app.web", True, "from .auth import check", ["app.web.auth.check"]),
        ("app.clock", False, "def f():\n    from app import cli", ["app.cli"]),
        ("app.clock", False, "if TYPE_CHECKING:\n    import app.cli as c", ["app.cli"]),
    ],
)
def test_an_import_is_seen_however_it_is_written(
    module: str, is_package: bool, source: str, expected: list[str]
) -> None:
    assert list(imported_modules(source, module, is_package=is_package)) == expected


def test_every_module_at_the_top_of_app_has_its_layer() -> None:
    known = set().union({"__init__"}, PARTS_WITH_THEIR_OWN_RULE, *LAYERS)

    there = {path.stem for path in APP.glob("*.py")}
    there |= {path.name for path in APP.iterdir() if path.is_dir() and any(path.glob("*.py"))}

    assert there <= known, (
        f"{sorted(there - known)} at the top of app/ has no layer: register it in LAYERS of "
        f"{Path(__file__).name}, above everything that it imports and below what imports it"
    )


def test_imports_go_down_only() -> None:
    wrong = []
    for path in files_of(APP):
        part = part_of(module_name(path))
        allowed = allowed_for(part) if part else set()
        wrong += [
            f"{module_name(path)}: {name}"
            for name in imports_within_app(path)
            if part_of(name) not in allowed
        ]

    assert not wrong, "allowed_for(part) says what each may import"


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
    wrong = [
        f"{module_name(path)}: {name}"
        for path in files_of(APP / "transports")
        for name in imports_within_app(path)
        if transport_of(name) not in ("", "base", transport_of(module_name(path)) or "base")
    ]

    assert not wrong


def transport_of(module: str) -> str:
    """`sse` of `app.transports.sse` and of what is inside it; nothing of what is no transport's."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["app", "transports"] and len(parts) > 2 else ""


def test_a_transport_may_be_a_folder() -> None:
    """What is inside one is that transport's own."""
    assert transport_of("app.transports.socket_io.frames") == transport_of("app.transports.socket_io")


def test_load_tests_know_the_core_only() -> None:
    wrong = [
        f"{module_name(path)}: {name}"
        for path in files_of(ROOT / "loadtests")
        for name in imports_within_app(path)
        if part_of(name) != "core"
    ]

    assert not wrong


@pytest.mark.parametrize("package", FREE_OF_GREEN_THREADS)
def test_runner_and_analysis_load_neither_green_threads_nor_flask(package: str) -> None:
    """With all their modules, in a fresh interpreter, since this one has loaded them already."""
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
