"""The tree of errors is drawn where it begins, with all that stand elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

from app.core import errors

APP = Path(__file__).parents[2] / "app"
ROOT = "SiarError"


def written() -> dict[str, tuple[str, str]]:
    """Every error of ours by name: its parent, and its file below the repository."""
    classes = {
        node.name: (base.id, path.relative_to(APP.parent).as_posix())
        for path in sorted(APP.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    found = {ROOT}
    while more := {name for name, (parent, _file) in classes.items() if parent in found} - found:
        found |= more
    return {name: classes[name] for name in found - {ROOT}}


def drawn() -> dict[str, tuple[str, str]]:
    """The same, as the drawing has it; what stands in the drawing's own file is drawn without one."""
    found: dict[str, tuple[str, str]] = {}
    above = ROOT
    for line in (errors.__doc__ or "").splitlines():
        branch, dashes, rest = line.partition("+-- ")
        if dashes:
            name, *words = rest.split()
            file = words[0].removesuffix(":") if words[0].startswith("app/") else "app/core/errors.py"
            found[name] = (above if branch else ROOT, file)
            above = above if branch else name
    return found


def test_every_error_is_drawn_below_its_parent_and_with_its_file() -> None:
    assert drawn() == written()
