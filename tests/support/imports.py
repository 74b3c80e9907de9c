"""Imports between the modules of app/, read from the source, including those in functions and for types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"

TIERS = ("cli", "tools", "lab", "server", "store", "core")
"""The folders of app/ from the top down: each imports from those below it, never from one above."""

BASICS = ("clock", "i18n", "paths", "settings")
"""Modules next to the folders that all but `core` may import; they import `core` and each other."""

Graph = dict[str, set[str]]
"""Names, and what each of them imports."""


def files_of(package: Path) -> list[Path]:
    """List the modules of a package."""
    return sorted(package.rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name of a file, `app.core` for `app/core/__init__.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Yield every absolute name that the source imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute_base(node, module, is_package=is_package)
            # `from app import clock` names a module in its second half, so both halves count.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute_base(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if is_package else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def imports_of(path: Path) -> list[str]:
    """List the absolute names that a file imports."""
    return list(
        imported_modules(
            path.read_text(encoding="utf-8"), module_name(path), is_package=path.name == "__init__.py"
        )
    )


def path_of(module: str) -> Path:
    """Return the file of a module or package."""
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def reached_from(names: set[str]) -> set[str]:
    """Return these modules and all that they import, directly or not, in functions too."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += modules()[name]
    return found


@cache
def modules() -> Graph:
    """Return every module of app/ with the modules of app/ that it imports."""
    paths = {module_name(path): path for path in files_of(APP)}
    return {
        name: {_module_of(each, paths) for each in imports_of(path) if each.split(".")[0] == "app"}
        - {name, "app"}
        for name, path in paths.items()
    }


def _module_of(name: str, paths: dict[str, Path]) -> str:
    """Return the module that a name stands in: `app.clock` for `app.clock.now_us`."""
    return name if name in paths else name.rpartition(".")[0]


def children(package: str) -> Graph:
    """Return what stands directly in a package, and how these import each other; folders count as one."""
    inside = {_child(name, package) for name in modules()} - {None}
    found: Graph = {str(name): set() for name in inside}
    for name, imported in modules().items():
        child = _child(name, package)
        if child:
            found[child] |= {str(each) for each in (_child(other, package) for other in imported) if each} - {
                child
            }
    return found


def _child(module: str, package: str) -> str | None:
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def packages() -> list[str]:
    """List the packages of app/, itself included."""
    return [module_name(path) for path in files_of(APP) if path.name == "__init__.py"]


def cycle(graph: Graph) -> list[str]:
    """Return one cycle of a graph, empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def from_the_top(graph: Graph) -> list[str]:
    """List the names of a graph without cycles: each before what it imports."""
    in_order = {name: sorted(graph[name]) for name in sorted(graph)}  # or it differs from run to run
    return list(TopologicalSorter(in_order).static_order())[::-1]
