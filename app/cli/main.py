"""The command line: select a command, run it, translate errors into a sentence and an exit code.

The exit codes are those of `app.core.exit_codes`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol

from app.cli import signals
from app.cli.output import OutputLost, guarded
from app.core.errors import Malformed, SettingError, SiarError, StoreError, Unfit, Unknown
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_UNFIT, EXIT_USAGE
from app.core.version import VERSION

COMMANDS = {
    "demo": "compare SSE and Socket.IO on this machine: about a minute, no questions (--quick: under 25 s)",
    "serve": "serve phones on the LAN: prints address, QR code and the operator's link (--https self: encrypted)",
    "run": "an experiment from a plan file or flags, with built-in clients or (--phones N) with phones on the LAN",
    "doctor": "is this machine and network fit to measure; what to do if not",
    "bench": "what fan-out costs, against a plain loop of send (--quick: about a minute; all: about 14)",
    "load": "Locust, headless: 50 to thousands of users, with gates (--quick; --shape steps, spike, ramp; --agreement)",
    "link": "a new one-time link for the operator of the server that runs here",
    "runs": "list the runs (prune: old ones into the trash; restore)",
    "open": "the report of the newest run, or of RUN, in the browser",
    "report": "draw the report of a run again",
    "compare": "set runs against the first one: settings, figures, and what got worse",
    "export": "a run as a zip or folder to give away, without names, tokens and addresses",
    "import": "a run that was exported elsewhere, checked first",
    "verify": "recompute a run's figures from its raw deliveries and compare",
    "calibrate": "try the instrument with known delays, jitter, losses and wrong clocks: about a minute (--quick: 25 s)",
    "test": "the test suite (--unit: the inner loop; --all adds the slow tests; --nightly)",
}
"""Each command is a module of `app.cli`, imported only when selected, so that `serve` stays small.

`test` is the exception: the script `./siar` runs it itself.
"""


_EXIT_CODES: tuple[tuple[type[SiarError], int], ...] = (
    (Unfit, EXIT_UNFIT),
    (SettingError, EXIT_USAGE),
    (Malformed, EXIT_USAGE),
    (Unknown, EXIT_USAGE),
    (StoreError, EXIT_FAILURE),
)


class Command(Protocol):
    """Interface of a module of `app.cli`."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the command's flags to the parser."""

    @staticmethod
    def execute(arguments: argparse.Namespace) -> int:
        """Run the command. Returns the exit code."""


def program() -> int:
    """Run the command of `sys.argv` with guarded output. Returns the exit code."""
    return guarded(lambda: main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` select. Returns the exit code."""
    try:
        with signals.as_ctrl_c():
            return _run(arguments)
    except SystemExit as end:  # argparse has printed the reason
        return int(end.code or 0)
    except OutputLost:
        raise
    except KeyboardInterrupt:
        print("siar: stopped.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except SiarError as error:
        print(f"siar: {error}", file=sys.stderr)
        return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), EXIT_FAILURE)


def _run(arguments: Sequence[str]) -> int:
    if (
        arguments and arguments[0] == "test"
    ):  # `./siar` starts the tests itself; they are not part of the program.
        raise Unfit("The test suite is run in a checkout, by ./siar test.")
    parsed = _parser(arguments).parse_args(arguments)
    return _module(parsed.command).execute(parsed)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser. Only the selected command gets its flags, so that no other module is imported."""
    parser = argparse.ArgumentParser(
        prog="siar",
        description="A push-notification service that measures itself: SSE or WebSocket, on your own machines.",
    )
    parser.add_argument("--version", action="version", version=f"siar {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    named = next((each for each in arguments if not each.startswith("-")), None)
    for name, summary in COMMANDS.items():
        added = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == named and name != "test":
            _module(name).add_arguments(added)
    return parser


def _module(name: str) -> Command:
    # `import` is a keyword and `open` a built-in function, so no module is named that.
    module = {"import": "import_", "open": "open_"}.get(name, name)
    return importlib.import_module(f"app.cli.{module}")  # type: ignore[return-value]
