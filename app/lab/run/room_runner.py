"""The runner as a process: `python -P -m app.lab.run.room_runner --url U --plan FILE --run ID --runs-dir D --phones N`.

With `--clients`, built-in clients take the place of phones. The operator's token comes as `SIAR_ADMIN_TOKEN`, because every user
of the machine can read arguments. The process ends in order at SIGINT, SIGTERM and the end of its standard input. It prints its
progress as plain lines. If the plan was not completed, a last line has the reason as JSON, which the server translates:
`{"ending": {"code": ..., "parameters": ...}}`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app.core.errors import SiarError, Unfit
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFIT
from app.core.plan.scenario import Plan, plan_from_json
from app.core.sentence import Sentence, message_of, to_json
from app.i18n import LANGUAGES, ending, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.headline import headline
from app.lab.report.files import write_all
from app.lab.run.api import Server, find_server
from app.lab.run.progress import PlainProgress
from app.lab.run.room_run import RoomRun
from app.lab.run.runner import run_plan
from app.server.room.notes import without_name
from app.store.plans import check_for_built_in
from app.store.store import Store


def main(arguments: Sequence[str]) -> int:
    """Run until the plan is done or a stop is requested; return the exit code."""
    options = _parser().parse_args(arguments)
    stop = _stop_request()
    try:
        plan = plan_from_json(json.loads(options.plan.read_text(encoding="utf-8")))
        server = find_server(options.url, admin_token=os.environ.get("SIAR_ADMIN_TOKEN", ""), pid=options.pid)
        analysis = _run(plan, server, options, stop)
    except (SiarError, OSError, ValueError) as error:
        _print_ending(message_of(error), line=f"siar runner: {error}")
        return EXIT_UNFIT if isinstance(error, Unfit) else EXIT_FAILURE
    if analysis is None:
        _print_ending(ending("before_it_began"))
        return EXIT_INTERRUPTED
    sentence = text(headline(analysis).sentence, LANGUAGES[0])
    if analysis.run.complete:
        print(sentence, flush=True)
        return EXIT_OK
    _print_ending(ending("stopped"), line=sentence)
    return EXIT_INTERRUPTED


def _print_ending(reason: str, *, line: str = "") -> None:
    """Print why the plan was not completed: one line for the log and one for the server."""
    sentence = reason if isinstance(reason, Sentence) else ending("words", words=reason)
    print(line or reason, flush=True)
    print(json.dumps({"ending": to_json(sentence)}), flush=True)


class NamelessProgress(PlainProgress):
    """Progress without names of people, because the log is kept longer than the server keeps names."""

    def note(self, sentence: str) -> None:
        """Print the sentence with the pseudonym only."""
        super().note(without_name(sentence))


def _run(
    plan: Plan, server: Server, options: argparse.Namespace, stop: Callable[[], bool]
) -> Analysis | None:
    """Run the plan and write its report; return the analysis, `None` if nothing was measured."""
    progress = NamelessProgress(sys.stdout)
    if options.phones is not None:
        room_run = RoomRun(plan, server, options.runs_dir, options.run, options.phones, progress, stop=stop)
        return room_run.execute()
    check_for_built_in(plan)
    analysis = None
    try:
        run_plan(
            plan, server=server, runs_dir=options.runs_dir, run_id=options.run, progress=progress, stop=stop
        )
    finally:
        folder: Path = options.runs_dir / options.run
        if folder.is_dir():
            with Store.open(folder) as store:
                analysis = analyse(store.load())
            write_all(analysis, folder)
    return analysis


def _stop_request() -> Callable[[], bool]:
    """Return a function that tells whether a signal came or the process that started this one has ended."""
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: signals.append(number))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # The server decides what it means.

    def is_requested() -> bool:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return bool(signals) or (bool(ready) and not os.read(sys.stdin.fileno(), 4096))

    return is_requested


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="room_runner", description="Runs a plan on a server that runs.")
    parser.add_argument("--url", required=True, help="base URL of the server")
    parser.add_argument("--plan", type=Path, required=True, help="the plan as JSON")
    parser.add_argument("--run", required=True, help="id of the run")
    parser.add_argument("--runs-dir", type=Path, required=True, help="where the server keeps its runs")
    parser.add_argument(
        "--pid", type=int, help="root of the server's processes; without it no CPU is measured"
    )
    receivers = parser.add_mutually_exclusive_group(required=True)
    receivers.add_argument("--phones", type=int, metavar="N", help="wait for so many phones")
    receivers.add_argument("--clients", action="store_true", help="built-in clients instead of phones")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
