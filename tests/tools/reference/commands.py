"""The part of docs/commands.md that is made from the parsers of app/cli."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from app.cli import main as cli
from tests.tools import suite
from tests.tools.reference.markdown import one_line, table


def lines() -> Iterator[str]:
    """Yield a section for each command, in the order of `./siar --help`."""
    for number, (name, summary) in enumerate(cli.COMMANDS.items()):
        if number:
            yield ""
        yield from (f"### `./siar {name}`", "")
        if name == "test":
            yield from (suite.__doc__ or "").strip().splitlines()
        else:
            yield from _command(name, summary)


def _command(name: str, summary: str) -> Iterator[str]:
    yield f"{summary[0].upper()}{summary[1:]}."
    actions = [each for each in parser_of(name)._actions if not isinstance(each, argparse._HelpAction)]
    if actions:
        yield ""
        yield from table(("argument", "meaning"), ((f"`{_argument(each)}`", _help(each)) for each in actions))


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    parser = cli._parser([name])
    choices = next(each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    found: argparse.ArgumentParser = choices[name]
    return found


def _argument(action: argparse.Action) -> str:
    """Return a flag or place as it is typed, with what it takes."""
    value = _value(action)
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else value
    flags = ", ".join(action.option_strings)
    return (
        flags
        if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction)
        else f"{flags} {value}"
    )


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        name = action.metavar
    elif action.choices is not None:
        name = "|".join(map(str, action.choices))
    else:
        name = action.dest.upper()
    return f"{name} [{name} ...]" if action.nargs == "+" else name


def _help(action: argparse.Action) -> str:
    return one_line((action.help or "") % vars(action))
