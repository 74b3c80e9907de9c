"""How the runner goes through its blocks when not as many clients are there as planned."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.core.plan.scenario import BlockSpec, Plan, TrialSpec
from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.run.laboratory import Finished
from app.lab.run.progress import Progress
from app.lab.run.runner import run_in_laboratory
from app.store.store import RunHead, Store
from tests.support import records

VOID = TrialWarning("phone_missing", Severity.VOID, {"phones": ("P1",)})


@dataclass
class FakeLaboratory:
    """Trials that are over at once. `present` says how many are there when the n-th block begins."""

    plan: Plan
    present: list[int]
    void: set[tuple[int, int]] = field(default_factory=set)
    """(clients, block) whose first trial is void."""
    overhead_s: float = 0.0
    idle_overhead_s: float = 0.0
    calls: list[str] = field(default_factory=list)

    def begin(self) -> tuple[()]:
        return ()

    def has_enough_for(self, block: BlockSpec) -> bool:
        return self.present[0] >= block.clients

    def begin_block(self, block: BlockSpec) -> BlockSpec | None:
        count = self.present[0]
        if len(self.present) > 1:
            self.present.pop(0)
        if count >= block.clients:
            return block
        return None if count in self.plan.client_counts else replace(block, clients=count)

    def connect(self, spec: TrialSpec) -> None:
        self.calls.append(f"connect {spec.index}")

    def idle(self, spec: TrialSpec) -> Finished:
        self.calls.append(f"idle {spec.index}")
        return Finished(TrialRecord(spec, 0, 1, 0), (), ())

    def measure(self, spec: TrialSpec) -> Finished:
        self.calls.append(f"measure {spec.index}")
        warnings = (VOID,) if (spec.clients, spec.block) in self.void and spec.arm.name == "sse" else ()
        return Finished(TrialRecord(spec, 0, 1, 4, warnings=warnings), (), ())

    def disconnect(self) -> None:
        self.calls.append("disconnect")

    def at_end(self) -> Mapping[str, object]:
        return {"phones": 3}


def blocks_run(folder: Path, laboratory: FakeLaboratory) -> list[tuple[int, int]]:
    """(clients, block) in the order in which they ran."""
    head = RunHead("r", "2026-11-21T10:40:07Z", laboratory.plan, {})
    run_in_laboratory(head, folder / "r", lambda _store: contextlib.nullcontext(laboratory), Progress())
    with Store.open(folder / "r") as store:
        run = store.load()
    assert run.complete
    assert run.conditions["phones"] == 3
    return list(dict.fromkeys((each.spec.clients, each.spec.block) for each in run.trials))


def plan(**changes: object) -> Plan:
    return records.plan(client_counts=(1, 3), blocks=2, idle_s=0.0, **changes)


def test_with_all_there_the_blocks_run_as_planned(tmp_path: Path) -> None:
    assert sorted(blocks_run(tmp_path, FakeLaboratory(plan(), [3]))) == [(1, 0), (1, 1), (3, 0), (3, 1)]


def test_a_block_for_more_than_are_there_waits_until_they_are_back(tmp_path: Path) -> None:
    found = blocks_run(tmp_path, FakeLaboratory(plan(), [1, 1, 3]))

    assert found[:2] == [(1, 0), (1, 1)]
    assert sorted(found[2:]) == [(3, 0), (3, 1)]


def test_when_they_do_not_come_back_the_rest_goes_on_with_fewer(tmp_path: Path) -> None:
    found = blocks_run(tmp_path, FakeLaboratory(plan(), [2]))

    assert sorted(found) == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_count_that_is_measured_anyway_takes_no_other_s_place(tmp_path: Path) -> None:
    assert sorted(blocks_run(tmp_path, FakeLaboratory(plan(), [1]))) == [(1, 0), (1, 1)]


@pytest.mark.parametrize(("extra", "expected"), [(1, [(3, 2)]), (0, [])])
def test_a_void_block_is_repeated_whole_at_the_end(
    tmp_path: Path, extra: int, expected: list[tuple[int, int]]
) -> None:
    found = blocks_run(tmp_path, FakeLaboratory(plan(extra_blocks_max=extra), [3], void={(3, 0)}))

    assert found[4:] == expected


def test_the_clients_of_an_idle_window_are_those_of_the_trial_behind_it(tmp_path: Path) -> None:
    laboratory = FakeLaboratory(records.plan(client_counts=(1,), blocks=1, idle_s=0.1), [1])

    blocks_run(tmp_path, laboratory)

    at = next(place for place, call in enumerate(laboratory.calls) if call.startswith("idle"))
    index = int(laboratory.calls[at].split()[1])
    assert laboratory.calls[at - 1 : at + 3] == [
        f"connect {index + 1}",
        f"idle {index}",
        f"measure {index + 1}",
        "disconnect",
    ]
