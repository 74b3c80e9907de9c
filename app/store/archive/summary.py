"""Summary of a run for the list of runs: start, profile, state and verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from app.core.errors import SiarError, StoreError
from app.core.plan.scenario import LIVE_PROFILE
from app.core.sentence import message_of
from app.i18n import refusal
from app.store import database
from app.store.archive.folders import LIVE_PREFIX, read_file

DATABASE = "run.sqlite"
RESULT = "result.json"

RESULT_BYTES_MAX = 32 * 1024 * 1024
"""Size limit of `result.json`; a run of several hours has a few megabytes."""

TEXT_CHARS_MAX = 300


class RunVerdict(msgspec.Struct, frozen=True):
    """A run's verdict in one sentence; older runs have it in English only."""

    code: str | None
    sentence_en: str
    sentence_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One entry of the list of runs."""

    id: str
    started: str | None
    """ISO 8601, UTC; `None` if unknown."""
    state: str
    """`complete`, `incomplete`, `live` (posts of phones outside of experiments), `damaged`, or `running`."""
    complete: bool
    profile: str | None
    simulated: bool
    """True if its clients or phones were simulated."""
    phones: int
    """Number of participating phones."""
    verdict: RunVerdict | None
    """The run's headline; of a run from an earlier version the verdict at its largest count of clients."""
    problem: str | None = None
    """Description of a damaged run's problem; a `Sentence` (app/core/sentence.py) if it has a code."""
    problem_code: str | None = None
    """Code of the problem for programs; filled in by the server."""


class _Run(msgspec.Struct):
    started: str
    complete: bool
    simulated: bool


class _Plan(msgspec.Struct):
    profile: str


class _Comparison(msgspec.Struct):
    family: str
    clients: int
    text: str


class _Conditions(msgspec.Struct):
    participants: list[msgspec.Raw] = []


class _Result(msgspec.Struct):
    """Members of `result.json` that the list needs; the decoder skips the rest, which is most of the file."""

    run: _Run
    plan: _Plan
    comparison: list[_Comparison]
    conditions: _Conditions
    verdict: RunVerdict | None = None


class _OnlyPlan(msgspec.Struct):
    plan: dict[str, Any]


_result = msgspec.json.Decoder(_Result)


def summarise(folder: Path) -> RunSummary:
    """Return the summary of the run in `folder`; a damaged run gets a summary too."""
    if folder.name.startswith(LIVE_PREFIX):
        return _summary(folder, state="live", profile=LIVE_PROFILE, started=started_in(folder.name))
    try:
        if (folder / RESULT).is_file():
            return _finished(folder)
        return _unfinished(folder)
    except SiarError as error:
        return _summary(folder, state="damaged", problem=message_of(error))


def plan_of(folder: Path) -> dict[str, Any] | None:
    """Read a finished run's plan as plain values, to run it again; `None` without a readable result."""
    try:
        raw = read_file(folder / RESULT, bytes_max=RESULT_BYTES_MAX)
        return msgspec.json.decode(raw, type=_OnlyPlan).plan
    except (SiarError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _finished(folder: Path) -> RunSummary:
    raw = read_file(folder / RESULT, bytes_max=RESULT_BYTES_MAX)
    try:
        result = _result.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(refusal("run_result_damaged", file=RESULT, reason=error)) from error
    return _summary(
        folder,
        state="complete" if result.run.complete else "incomplete",
        started=result.run.started,
        profile=result.plan.profile,
        simulated=result.run.simulated,
        phones=len(result.conditions.participants),
        verdict=result.verdict or _first_sentence(result.comparison),
    )


def _unfinished(folder: Path) -> RunSummary:
    """Summarise a run without a result from what its runner wrote to the database at the start."""
    path = folder / DATABASE
    if not path.is_file() or path.is_symlink():
        raise StoreError(refusal("run_database_missing", folder=folder.name, file=DATABASE))
    with database.reporting_damage(path, name=DATABASE):
        connection = database.connect(path, write=False)
        try:
            row = connection.execute("SELECT started, plan, simulated FROM run").fetchone()
        finally:
            connection.close()
        if row is None:
            raise StoreError(refusal("run_without_word", folder=folder.name))
        profile = msgspec.json.decode(row["plan"], type=_Plan).profile
        is_live = profile == LIVE_PROFILE
        return _summary(
            folder,
            state="live" if is_live else "incomplete",
            started=str(row["started"]),
            profile=profile,
            simulated=bool(row["simulated"]),
        )


def _first_sentence(comparisons: list[_Comparison]) -> RunVerdict | None:
    found = [each for each in comparisons if each.family == "confirmatory"]
    with_most = max(found, key=lambda each: each.clients, default=None)
    return None if with_most is None else RunVerdict(None, with_most.text)


def _summary(
    folder: Path,
    *,
    state: str,
    started: str | None = None,
    profile: str | None = None,
    simulated: bool = False,
    phones: int = 0,
    verdict: RunVerdict | None = None,
    problem: str | None = None,
) -> RunSummary:
    return RunSummary(
        id=folder.name,
        started=_truncated(started or started_in(folder.name)),
        state=state,
        complete=state == "complete",
        profile=_truncated(profile),
        simulated=simulated,
        phones=phones,
        verdict=None if verdict is None else _truncated_verdict(verdict),
        problem=_truncated(problem),
    )


def started_in(run: str) -> str | None:
    """Parse the start time in an id such as `live-2026-11-21T10-40-07-a1b2`; `None` for other ids."""
    date, _, time = run.removeprefix(LIVE_PREFIX).partition("T")
    parts = [*date.split("-"), *time.split("-")[:3]]
    is_one = [len(each) for each in parts] == [4, 2, 2, 2, 2, 2] and all(each.isdigit() for each in parts)
    return f"{date}T{':'.join(parts[3:])}Z" if is_one else None


def _truncated_verdict(verdict: RunVerdict) -> RunVerdict:
    return RunVerdict(
        _truncated(verdict.code), _truncated(verdict.sentence_en) or "", _truncated(verdict.sentence_id)
    )


def _truncated(text: str | None) -> str | None:
    """Limit the length of text from a file that may be foreign."""
    return text if text is None or len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"
