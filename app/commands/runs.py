"""`./siar runs`: what has been measured, newest first."""

from __future__ import annotations

import argparse
import os

from app import settings as settings_module
from app.core.errors import StoreError
from app.core.scenario import LIVE_PROFILE
from app.measure.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No flags: `SIAR_RUNS_DIR` says where."""


def execute(_arguments: argparse.Namespace) -> int:
    """One line per run; a damaged one is named, not hidden."""
    runs_dir = settings_module.read(os.environ).runs_dir
    folders = (
        sorted((each for each in runs_dir.glob("*") if each.is_dir()), reverse=True)
        if runs_dir.is_dir()
        else []
    )
    if not folders:
        print(f"No runs in {runs_dir}. `siar demo` makes one.")
    for folder in folders:
        try:
            with Store.open(folder) as store:
                run = store.load()
        except StoreError as error:
            print(f"{folder.name}  cannot be read: {error}")
            continue
        if run.plan.profile == LIVE_PROFILE:
            print(f"{run.id}  live: what phones posted")
            continue
        state = "complete" if run.complete else "incomplete"
        arms = ", ".join(arm.name for arm in run.plan.arms)
        measured = sum(not trial.spec.idle for trial in run.trials)
        print(f"{run.id}  {run.plan.profile}  {arms}  {measured} trials  {state}")
    return 0
