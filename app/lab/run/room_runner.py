"""The runner as a process: `python -P -m app.lab.run.room_runner --url U --plan FILE --run ID --runs-dir D --phones N`.

With `--clients` built-in clients take the phones' place. The operator's token comes as `SIAR_ADMIN_TOKEN`, since every
user of the machine can read arguments. It ends in order at SIGINT, SIGTERM and the end of its standard input, and
says how it went in plain lines. Where the plan was not done a last line says why as JSON, for the server to say it in
its reader's language: `{"ending": {"code": ..., "parameters": ...}}`.
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
from app.core.plan.scenario import Plan, plan_from_json
from app.core.sentence import Sentence, message_of, to_json
from app.i18n import ending
from app.lab.analysis.analyse import analyse
from app.lab.analysis.verdict import run_verdict
from app.lab.report.files import write_all
from app.lab.run.api import Server, find_server
from app.lab.run.progress import PlainProgress
from app.lab.run.room_run import RoomRun
from app.lab.run.runner import run_plan
from app.server.room.notes import without_name
from app.store.plans import check_for_built_in
from app.store.store import Store

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_UNFIT = 3
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run until the plan is done or the end is asked for; the exit code."""
    given = _parser().parse_args(arguments)
    stop = _stop_asked()
    try:
        plan = plan_from_json(json.loads(given.plan.read_text(encoding="utf-8")))
        server = find_server(given.url, admin_token=os.environ.get("SIAR_ADMIN_TOKEN", ""), pid=given.pid)
        folder = _run(plan, server, given, stop)
    except (SiarError, OSError, ValueError) as error:
        _say_end(message_of(error), line=f"siar runner: {error}")
        return EXIT_UNFIT if isinstance(error, Unfit) else EXIT_FAILURE
    if folder is None:
        _say_end(ending("before_it_began"))
        return EXIT_INTERRUPTED
    with Store.open(folder) as store:
        analysis = analyse(store.load())
    sentence = run_verdict(analysis).sentence_en
    if analysis.run.complete:
        print(sentence, flush=True)
        return EXIT_OK
    _say_end(ending("stopped"), line=sentence)
    return EXIT_INTERRUPTED


def _say_end(why: str, *, line: str = "") -> None:
    """Why the plan was not done: in a line for whoever reads the log, and in one for the server."""
    said = why if isinstance(why, Sentence) else ending("words", words=why)
    print(line or why, flush=True)
    print(json.dumps({"ending": to_json(said)}), flush=True)


class NamelessProgress(PlainProgress):
    """For a log that outlives what its server knows of the phones: it never holds their names."""

    def note(self, text: str) -> None:
        """The sentence, with the pseudonym only."""
        super().note(without_name(text))


def _run(plan: Plan, server: Server, given: argparse.Namespace, stop: Callable[[], bool]) -> Path | None:
    progress = NamelessProgress(sys.stdout)
    if given.phones is not None:
        return RoomRun(plan, server, given.runs_dir, given.run, given.phones, progress, stop=stop).execute()
    check_for_built_in(plan)
    try:
        return run_plan(
            plan, server=server, runs_dir=given.runs_dir, run_id=given.run, progress=progress, stop=stop
        )
    finally:
        folder: Path = given.runs_dir / given.run
        if folder.is_dir():
            with Store.open(folder) as store:
                write_all(analyse(store.load()), folder)


def _stop_asked() -> Callable[[], bool]:
    """Whether a signal came, or whoever started this process has gone."""
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: asked.append(number))

    def is_asked() -> bool:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return bool(asked) or (bool(ready) and not os.read(sys.stdin.fileno(), 4096))

    return is_asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="room_runner", description="Runs a plan on a server that runs.")
    parser.add_argument("--url", required=True, help="base URL of the server")
    parser.add_argument("--plan", type=Path, required=True, help="the plan as JSON")
    parser.add_argument("--run", required=True, help="id of the run")
    parser.add_argument("--runs-dir", type=Path, required=True, help="where the server keeps its runs")
    parser.add_argument(
        "--pid", type=int, help="root of the server's processes; without it no CPU is measured"
    )
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--phones", type=int, metavar="N", help="wait for so many phones")
    who.add_argument("--clients", action="store_true", help="built-in clients instead of phones")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
