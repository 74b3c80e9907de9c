"""Start, pause and stop a run by controlling its runner process and the room with its phones."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

from app.core.errors import Conflict
from app.core.plan.scenario import Plan, plan_to_json
from app.core.sentence import Sentence
from app.i18n import REFUSAL, in_language, refusal
from app.server.room.phases import UNDER_WAY, Phase
from app.server.runners import Order, Runner
from app.server.web.current import services
from app.server.wsgi import server_file
from app.store import run_ids
from app.store.archive.summary import RunSummary, started_in

RUNNING = "running"


def seed_or_random(seed: int | None) -> int:
    """Return the given seed, or a random one that is short enough to be typed again."""
    return secrets.randbelow(1_000_000) if seed is None else seed


def start(plan: Plan, *, phones: int | None) -> str:
    """Start a runner; return the run's id. Raises `Conflict` while anything is under way."""
    parts = services()
    if parts.room.phase not in (Phase.CLOSED, Phase.FINISHED):
        raise Conflict(refusal("stop_it_first"))
    if parts.trials.active() is not None:
        raise Conflict(refusal("measuring_now"))
    run = run_ids.new_run_id()
    parts.runners.start(
        Order(
            run=run,
            plan_json=json.dumps(plan_to_json(plan)),
            url=server_file.own_url(parts.settings),
            runs_dir=parts.settings.runs_dir,
            token=parts.operators.runner_token,
            certificate=parts.settings.tls_authority or parts.settings.tls_cert,
            phones=phones,
        )
    )
    return run


def pause(run: str) -> None:
    """Pause between two trials. Raises `Conflict` for a run that cannot pause."""
    _check_in_room(run)
    services().room.pause()


def resume(run: str) -> None:
    """End a pause. Raises `Conflict`."""
    _check_in_room(run)
    services().room.resume()


def stop(run: str) -> None:
    """End a run with what was measured so far. Raises `Conflict` if it is not under way."""
    runner = services().runners.of(run)
    if runner is not None and not runner.is_over:
        services().runners.stop(run)
    else:  # `./siar run` started it, and notices that its room is closed.
        _check_in_room(run)
        services().room.close()


def with_live_state(summary: RunSummary, language: str) -> RunSummary:
    """Complete a run's summary from disk with what the running server knows, in the reader's language."""
    if is_running(summary.id):
        return replace(
            summary, state=RUNNING, complete=False, problem=None
        )  # Its files are still incomplete.
    if not isinstance(summary.problem, Sentence):
        return summary
    code = summary.problem.code.removeprefix(REFUSAL)
    return replace(summary, problem=in_language(language, summary.problem), problem_code=code)


def is_running(run: str) -> bool:
    """Return whether a run is under way here, whether or not this server started it."""
    runner = services().runners.running()
    return (runner is not None and runner.order.run == run) or run == _run_in_room()


def with_running(found: list[RunSummary]) -> list[RunSummary]:
    """Return the list with the current run in front if it has no folder yet, because its phones are gathering."""
    runner = services().runners.running()
    if runner is None or any(each.id == runner.order.run for each in found):
        return found
    return [summary_of(runner), *found]


def summary_of(runner: Runner) -> RunSummary:
    """Return the summary of a run that has no files, or none yet."""
    return RunSummary(
        id=runner.order.run,
        started=started_in(runner.order.run),
        state="incomplete" if runner.is_over else RUNNING,
        complete=False,
        profile=runner.plan()["profile"],
        simulated=runner.order.phones is None,
        phones=runner.order.phones or 0,
        verdict=None,
    )


def _check_in_room(run: str) -> None:
    if _run_in_room() != run:
        raise Conflict(refusal("not_with_phones", run=run[:64]))


def _run_in_room() -> str | None:
    room = services().room
    experiment = room.experiment
    is_open = room.phase in (*UNDER_WAY, Phase.GATHERING)
    return experiment.run if experiment is not None and is_open else None
