"""The public surface as a list: `python -m tests.tools.surface` writes it into tests/surface.txt.

Commands with their flags, settings, endpoints with the members of their bodies, metrics, tables of a run, keys of a
result, exit codes. A unit test compares, so that a change of any of them is seen in a diff. `--check` only compares.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from app.cli import main as cli
from app.core.exit_codes import EXIT_CODES
from app.lab.analysis.analyse import analyse
from app.lab.report.data.result import result_json
from app.server.factory import create_app
from app.server.web.service.openapi import document
from app.settings import Settings
from app.store import schema
from tests.support.imports import ROOT
from tests.unit.support_run import RunMaker, a_plan

LIST = ROOT / "tests" / "surface.txt"


def lines() -> list[str]:
    """Return every line of the list, sorted."""
    return sorted(
        {*commands(), *exit_codes(), *settings(), *endpoints(), *members(), *metrics(), *tables(), *keys()}
    )


def commands() -> Iterator[str]:
    """Yield each command with its flags and arguments."""
    for name in cli.COMMANDS:
        if name == "test":
            yield "command test"
            continue
        for action in _parser_of(name)._actions:
            if not isinstance(action, argparse._HelpAction):
                choices = f" {{{','.join(map(str, action.choices))}}}" if action.choices else ""
                yield f"command {name} {' '.join(action.option_strings) or action.dest}{choices}"


def _parser_of(name: str) -> argparse.ArgumentParser:
    subparsers = next(
        action for action in cli._parser([name])._actions if isinstance(action, argparse._SubParsersAction)
    )
    found: argparse.ArgumentParser = subparsers.choices[name]
    return found


def exit_codes() -> Iterator[str]:
    """Yield the exit codes."""
    for code in EXIT_CODES.values():
        yield f"exit {code}"


def settings() -> Iterator[str]:
    """Yield each setting with its default."""
    default = Settings()
    for field in fields(Settings):
        yield f"setting SIAR_{field.name.upper()} = {getattr(default, field.name)!r}"


def endpoints() -> Iterator[str]:
    """Yield each method and path."""
    app = create_app(Settings(admin_token="t", runs_dir=Path("nowhere")))
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield f"endpoint {method} {rule.rule}"


def members() -> Iterator[str]:
    """Yield the members of every body that the description of the interface has."""
    for name, each in document()["components"]["schemas"].items():
        for member in each.get("properties", {}):
            yield f"body {name}.{member}"


def metrics() -> Iterator[str]:
    """Yield the names at /metrics."""
    for path in sorted((ROOT / "app" / "server" / "web").rglob("*.py")):
        for name in re.findall(r"\bsiar_[a-z0-9_]+", path.read_text(encoding="utf-8")):
            yield f"metric {name}"


def tables() -> Iterator[str]:
    """Yield the tables and columns of a run's database."""
    with sqlite3.connect(":memory:") as database:
        for statement in schema.statements():
            database.execute(statement)
        for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for _number, column, kind, *_rest in database.execute(f"PRAGMA table_info({table})"):
                yield f"table {table}.{column} {kind}"


def keys() -> Iterator[str]:
    """Yield the keys of result.json, nested ones with those above them."""
    yield from sorted({f"result {path}" for path in _paths(result_json(analyse(RunMaker(a_plan()).run())))})


def _paths(value: Any, above: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{above}.{key}" if above else str(key)
            yield path
            yield from _paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, f"{above}[]")


def main() -> int:
    """Run as a command; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when the list has changed")
    check = parser.parse_args().check
    before = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    after = lines()
    for line in difflib.unified_diff(before, after, "before", "after", lineterm="", n=0):
        print(line)
    if not check:
        LIST.write_text("\n".join(after) + "\n", encoding="utf-8")
    return 1 if check and before != after else 0


if __name__ == "__main__":
    sys.exit(main())
