"""The command that measures a run's plan again with more blocks."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from app.core.errors import SiarError
from app.core.plan.classroom import classroom_plan, with_phones
from app.core.plan.scenario import Plan, arms_from_names
from app.core.wire import TRANSPORTS
from app.lab.analysis.analyse import Analysis
from app.store.plans import demo_plan, load_plan

PROGRAM = "./siar"

FLAGS = {
    "client_counts": "--clients",
    "notifications": "--notifications",
    "rate_hz": "--rate",
    "payload_bytes": "--payload-bytes",
}
"""Fields of a plan that a flag of `run` sets, without blocks."""


def run_command(analysis: Analysis, blocks: int, plan_file: str | None = None) -> str | None:
    """Return the command that runs an analysed run's plan with so many blocks, in an order of its own.

    `None` if flags cannot express the plan, and `plan_file`, which it may have been read from, is unknown or has another
    one.
    """
    plan, phones = analysis.run.plan, len(analysis.phones)
    names = [arm.transport for arm in plan.arms]
    if plan_file is None and plan == demo_plan(seed=plan.seed, quick=True, arms=names):
        plan = demo_plan(seed=plan.seed, arms=names)
    base = _base(plan, names, phones, plan_file)
    if base is None:
        return None
    words = [PROGRAM, "run", *([] if plan_file is None else [plan_file])]
    if phones:
        words += ["--phones", str(phones)]
    if plan_file is None and tuple(names) != TRANSPORTS:
        words += ["--arms", ",".join(names)]
    changed = {name: getattr(plan, name) for name in FLAGS if getattr(plan, name) != getattr(base, name)}
    if plan.instrument != base.instrument:
        words.append("--instrument" if plan.instrument else "--no-instrument")
    if replace(base, blocks=plan.blocks, profile=plan.profile, instrument=plan.instrument, **changed) != plan:
        return None
    for name, value in changed.items():
        words += [FLAGS[name], ",".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"]
    return shlex.join([*words, "--blocks", str(blocks)])


def _base(plan: Plan, names: list[str], phones: int, plan_file: str | None) -> Plan | None:
    """Return the plan that `run` has without flags; `None` if the arms need a plan file, or the file is gone."""
    try:
        if plan_file is not None:
            return load_plan(Path(plan_file), seed=plan.seed)
        if plan.arms != arms_from_names(names):
            return None
        if phones:
            return with_phones(classroom_plan(phones, seed=plan.seed, arms=names), phones)
        return demo_plan(seed=plan.seed, arms=names)
    except SiarError:
        return None
