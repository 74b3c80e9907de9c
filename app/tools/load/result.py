"""The result of a load run: validity of the generator, outcomes of the gates, exit code.

A ramp continues until something gives out. If that is the generator, its results at lower levels remain valid. Only a
transport with no valid level at all makes the run invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from app.core.errors import Malformed
from app.core.exit_codes import EXIT_FAILURE, EXIT_GATE, EXIT_OK, EXIT_UNFIT
from app.core.gate_verdict import GateVerdict, gates_exit_code
from app.core.messages import Message
from app.core.trial import Severity
from app.i18n import LANGUAGES, speaker, text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.validity.trial_warnings import advice
from app.tools.load import probe_line, trial_line, vps
from app.tools.load.agreement import Agreement, agreements
from app.tools.load.capacity import Capacity, capacities
from app.tools.load.floors import floors_of
from app.tools.load.gates import Gate, GateOutcome, judge, parse_gate
from app.tools.load.invalid_rules import INSTRUMENT_CODES
from app.tools.load.levels import FIGURES, Level, levels_of
from app.tools.load.probe_line import ProbeLine
from app.tools.load.trial_line import FloorLine, TrialLine
from app.tools.load.vps_study import Study, study_with_run

VALID_SHARE_MIN = 0.5
"""Minimum share of a level's valid trials: with fewer, the remainder is a selection, not a measurement."""


class Kind(StrEnum):
    """Kind of load run."""

    LEVELS = "levels"
    STEPS = "steps"
    SPIKE = "spike"
    RAMP = "ramp"
    AGREEMENT = "agreement"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Everything that is reported of a load run in addition to the analysis that every run has."""

    kind: Kind
    levels: tuple[Level, ...]
    floors: tuple[FloorLine, ...]
    gates: tuple[GateOutcome, ...]
    troubles: tuple[Message, ...]
    """Reasons why the generator is invalid; empty if it is valid."""
    remarks: tuple[Message, ...]
    """Remarks for the reader on floors and delays, and on where a ramp's generator gave out."""
    advice: tuple[Message, ...]
    complete: bool
    lines: tuple[TrialLine, ...]
    capacity: Mapping[str, Capacity]
    """Capacity of each arm; empty if the run is no ramp."""
    agreement: tuple[Agreement, ...]
    study: Study | None = None
    """The published tables next to this run's figures; only for a preset."""

    @property
    def is_valid(self) -> bool:
        """True if the generator is valid."""
        return not self.troubles

    @property
    def exit_code(self) -> int:
        """The exit code. An invalid generator's 3 comes before 99, because then no gate means anything."""
        if not self.complete:
            return EXIT_FAILURE
        if not self.is_valid or not self.levels:
            return EXIT_UNFIT
        if self.kind is Kind.RAMP:  # A ramp is meant to break its gates.
            return EXIT_OK if all(each.users for each in self.capacity.values()) else EXIT_GATE
        verdicts = [each.verdict for each in self.gates] + [each.verdict for each in self.agreement]
        return gates_exit_code(verdicts)


def load_result(analysis: Analysis, folder: Path, gates: Sequence[Gate] | None = None) -> LoadResult:
    """Compute the result of the run in `folder` from its own files. `gates`: used instead of the run's own.

    Raises `StoreError` and `Malformed`.
    """
    raw = trial_line.read(folder)
    head = next((each for each in raw if each.get("kind") == "load"), {})
    kind = _kind(head)
    lines = tuple(TrialLine.from_json(each) for each in raw if each.get("kind") == "trial")
    floors = tuple(FloorLine.from_json(each) for each in raw if each.get("kind") == "floor")
    if gates is None:
        gates = tuple(parse_gate(each) for each in head.get("gates", ()))
    levels = levels_of(lines, floors, _cpu_us(analysis), by_visit=kind is Kind.SPIKE)
    study = None
    if head.get("preset") == vps.NAME:
        probes = [ProbeLine.from_json(each) for each in raw if each.get("kind") == probe_line.KIND]
        study = study_with_run(analysis, levels, probes)
    fatal, bounds = _invalid_levels(kind, levels)
    troubles = (*fatal, *(trouble for each in floors_of(floors).values() for trouble in each.troubles))
    next_steps = _advice(analysis)
    return LoadResult(
        kind=kind,
        levels=levels,
        floors=floors,
        gates=tuple(
            judge(gate, levels, is_valid=not troubles, is_complete=analysis.run.complete) for gate in gates
        ),
        troubles=troubles,
        remarks=(
            *bounds,
            *(next_steps if bounds and not troubles else ()),
            *(remark for each in floors_of(floors).values() for remark in each.remarks),
            *(remark for each in levels for remark in each.remarks),
        ),
        advice=next_steps,
        complete=analysis.run.complete,
        lines=lines,
        capacity=capacities(gates, levels) if kind is Kind.RAMP else {},
        agreement=agreements(lines) if kind is Kind.AGREEMENT else (),
        study=study,
    )


def result_part(result: LoadResult) -> dict[str, Any]:
    """Return the part `load` of the machine-readable result, schema 1, with texts in English."""
    say = speaker(LANGUAGES[0])
    return {
        "schema": 1,
        "kind": result.kind.value,
        "valid": result.is_valid,
        "exit_code": result.exit_code,
        "troubles": list(map(say, result.troubles)),
        "remarks": list(map(say, result.remarks)),
        "gates": [
            {
                "gate": str(each.gate),
                "name": each.gate.name,
                "held": each.verdict is GateVerdict.HELD,
                "verdict": each.verdict.value,
                "worst": each.worst,
                "where": say(each.where),
                "reason": say(each.reason),
            }
            for each in result.gates
        ],
        "levels": [_level(each) for each in result.levels],
        "floor": [
            {name: value for name, value in each.to_json().items() if name not in ("kind", "warnings")}
            for each in result.floors
        ],
        "floors": [
            {
                "transport": each.transport,
                "users": each.users,
                "count": len(each.lines),
                "failed": len(each.failed),
                "delay_ms_p50": each.median_ms,
                "delay_ms_p50_range": each.range_ms,
                "delay_ms_p99": each.tail_ms,
                "moved": each.has_moved,
            }
            for each in floors_of(result.floors).values()
        ],
        "capacity": {arm: each.users for arm, each in result.capacity.items()},
        "generator_gave_out": {
            arm: each.gave_out_at for arm, each in result.capacity.items() if each.gave_out_at is not None
        },
        "agreement": [each.to_json() for each in result.agreement],
        "study": None if result.study is None else result.study.to_json(),
    }


def _kind(head: Mapping[str, Any]) -> Kind:
    """Return the kind of a run by its first line. Raises `Malformed`."""
    try:
        return Kind(head.get("shape", Kind.LEVELS))
    except ValueError as error:
        raise Malformed(f"This Siar knows no load of the shape {head['shape']!r}.") from error


def _level(level: Level) -> dict[str, Any]:
    lags = [each.generator_lag_ms_p99 for each in level.trials if each.generator_lag_ms_p99 is not None]
    shares = [
        each.generator_cpu_share_max for each in level.trials if each.generator_cpu_share_max is not None
    ]
    return {
        "arm": level.arm,
        "transport": level.transport,
        "users": level.users,
        "visit": level.visit,
        "trials": len(level.trials),
        "believed": len(level.valid_trials),
        "broadcasts": level.broadcasts,
        "samples": level.delays.kernel.count,
        **{name: figure.of(level) for name, figure in FIGURES.items()},
        "tail_supported": {"p95": level.supports(0.95), "p99": level.supports(0.99)},
        "expected": level.total(lambda each: each.expected),
        "attempts": level.total(lambda each: each.attempts),
        "failures": dict(level.failures),
        "self_ms_p50": level.delays.generator.quantile_ms(0.5),
        "self_ms_p99": level.delays.generator.quantile_ms(0.99),
        "generator_cpu_share_max": max(shares, default=None),
        "generator_lag_ms_p99": max(lags, default=None),
        "lanes": level.delays.to_json(),
    }


def _cpu_us(analysis: Analysis) -> dict[tuple[str, int], float | None]:
    found: dict[tuple[str, int], list[float]] = {}
    for each in analysis.trials:
        spec, value = each.record.spec, each.cpu.per_delivery_us
        if value is not None:
            found.setdefault((spec.arm.name, spec.clients), []).append(value)
    return {key: median(values) for key, values in found.items()}


def _invalid_levels(kind: Kind, levels: Sequence[Level]) -> tuple[list[Message], list[Message]]:
    """Return sentences on levels with an invalid generator: those that invalidate the run, those that bound a ramp."""
    fatal: list[Message] = []
    bounds: list[Message] = []
    # The generator's own limit is a part of a ramp's result, provided that it was valid at any level.
    valid_arms = {each.arm for each in levels if each.valid_trials} if kind is Kind.RAMP else set()
    for level in levels:
        invalid = [each for each in level.trials if not each.is_believable]
        if len(invalid) > (1 - VALID_SHARE_MIN) * len(level.trials):
            codes = {code for each in invalid for code in each.void_codes} & INSTRUMENT_CODES
            counts = {"void": len(invalid), "trials": len(level.trials)}
            (bounds if level.arm in valid_arms else fatal).append(
                Message("load.trouble", {"where": level.title, **counts, "codes": tuple(sorted(codes))})
            )
    return fatal, bounds


def _advice(analysis: Analysis) -> tuple[Message, ...]:
    """Return what to do about the warnings that make the generator invalid, each step once."""
    found = [
        advice(each.first)
        for each in analysis.warnings
        if each.first.severity is Severity.VOID and each.first.code in INSTRUMENT_CODES
    ]
    return tuple({text(each, LANGUAGES[0]): each for each in found}.values())
