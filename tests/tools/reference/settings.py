"""The part of docs/settings.md that is made from the fields of `Settings`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from app import settings
from app.settings import RANGES, Settings, environment_name
from tests.tools.reference.markdown import one_line, table

Field = dataclasses.Field[object]

KIB = 1024

HANDED_DOWN = frozenset({"anchor_us", "timebase", "parent_pipe_fd", "operator_key", "first_link"})
"""Settings that a parent process gives its child; nobody sets them by hand."""

UNITS = {"s": "s", "ms": "ms", "us": "µs", "days": "days", "bytes": "bytes"}
"""Unit by a word of the setting's name."""


def lines() -> Iterator[str]:
    """Yield the table of settings, then those that processes hand to each other."""
    fields: tuple[Field, ...] = dataclasses.fields(Settings)
    by_hand = [each for each in fields if not is_handed_down(each)]
    rows = (
        (f"`{environment_name(each.name)}`", _default(each), _values(each), docstring(each))
        for each in by_hand
    )
    yield from table(("variable", "default", "values", "meaning"), rows)
    yield from ("", "Processes of one server hand these to each other; nobody sets them by hand:", "")
    handed = (each for each in fields if is_handed_down(each))
    yield from table(
        ("variable", "meaning"), ((f"`{environment_name(each.name)}`", docstring(each)) for each in handed)
    )


def is_handed_down(field: Field) -> bool:
    """Tell whether the setting passes from a parent process to its child."""
    return field.name in HANDED_DOWN


def docstring(field: Field) -> str:
    """Return the string below a field, on one line."""
    return one_line(_docstrings()[field.name])


@cache
def _docstrings() -> dict[str, str]:
    """Return the string below each field of the class; a field without one is an error."""
    body = ast.parse(inspect.getsource(settings)).body
    found = next(each for each in body if isinstance(each, ast.ClassDef) and each.name == "Settings").body
    return {
        field.target.id: below.value.value
        for field, below in pairwise(found)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }


def _default(field: Field) -> str:
    """Return the default as it would be set, with its size where it is one of bytes."""
    value = field.default
    if isinstance(value, bool):
        return f"`{int(value)}`"
    if isinstance(value, int) and "bytes" in field.name and value % KIB == 0:
        size = f"{value // KIB**2} MiB" if value % KIB**2 == 0 else f"{value // KIB} KiB"
        return f"`{value}` ({size})"
    if isinstance(value, int | float):
        return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
    text = "" if value == () else str(value)
    return f"`{text}`" if text else "empty"


def _values(field: Field) -> str:
    """Return what the setting may be: its range with the unit, or the kind of its text."""
    if isinstance(field.default, bool):
        return "`0`, `1`"
    if field.name in RANGES:
        low, high = RANGES[field.name]
        return f"{low:,} to {high:,} {unit(field.name)}".rstrip()
    return "list, by commas" if field.default == () else "text"


def unit(name: str) -> str:
    """Return the unit that a setting's name ends in; empty for a plain number."""
    words = name.removesuffix("_max").split("_")
    if words[-2:] == ["per", "s"]:
        return "per second"
    return UNITS.get(words[-1], "")
