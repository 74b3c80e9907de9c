"""Preset experiments: plans for a given number of phones that take at most twelve minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.core.errors import Malformed
from app.core.plan import classroom
from app.core.plan.scenario import Arm, Plan, arms_from_names, plan_to_json, schedule, trial_s
from app.core.wire import TRANSPORTS
from app.i18n import refusal
from app.store.plans import check_for_phones, plan_of_values

PHONES_MAX = 200

BUILT_IN_OVERHEAD_S = 0.3
"""Time between two trials of a hundred built-in clients: connecting, and reading the record."""

_STUDY_COUNTS = (1, 3, 6)


@dataclass(frozen=True, slots=True)
class Preset:
    """A named plan for any number of phones."""

    id: str
    make: Callable[[int], Plan]
    """Function from the number of phones to the plan, with seed 0; a plan for built-in clients ignores the number."""
    built_in: bool = False
    """True: the plan is for built-in clients instead of phones."""

    @property
    def title_key(self) -> str:
        """Key of its name in the pages' catalogues."""
        return f"preset_{self.id}_title"

    @property
    def text_key(self) -> str:
        """Key of its description in the pages' catalogues."""
        return f"preset_{self.id}_text"


def preset(name: str) -> Preset:
    """Return a preset by its id. Raises `Malformed` with a list of the existing ids."""
    for each in PRESETS:
        if each.id == name:
            return each
    raise Malformed(refusal("preset_unknown", name=name[:64], names=", ".join(each.id for each in PRESETS)))


def preset_plan(name: str, *, phones: int, seed: int) -> Plan:
    """Return a preset's plan for a number of phones. Raises `Malformed`."""
    if not 1 <= phones <= PHONES_MAX:
        raise Malformed(refusal("phones_out_of_range", count=PHONES_MAX))
    return replace(preset(name).make(phones), seed=seed)


def plan_by_fields(content: dict[str, Any], *, phones: int | None, seed: int) -> Plan:
    """Build a plan from a page's fields. Raises `Malformed`.

    `phones` is their number, `None` for built-in clients. Missing fields are as in the classroom plan for phones, and
    as in the demo for built-in clients.
    """
    if phones is None:
        return plan_of_values({**content, "environment": "loopback"}, seed=seed)
    usual = plan_to_json(_classroom(phones))
    kept = {name: usual[name] for name in usual if name not in ("arms", "profile", "seed")}
    plan = plan_of_values({**kept, **content, "environment": "lan"}, seed=seed)
    if max(plan.client_counts) > phones:
        raise Malformed(refusal("plan_wants_more", wanted=max(plan.client_counts), count=phones))
    check_for_phones(plan)
    return plan


def length_s(plan: Plan, *, built_in: bool = False) -> float:
    """Estimate the length of a run without repeated blocks, seconds."""
    if not built_in:
        return classroom.length_s(plan)
    idle_s = plan.idle_s + plan.settle_s if plan.idle_s > 0 else 0.0
    return sum(
        idle_s + sum(trial_s(plan, arm) + BUILT_IN_OVERHEAD_S for arm in block.arms)
        for block in schedule(plan)
    )


def _classroom(phones: int) -> Plan:
    """Compare SSE and Socket.IO with one phone, about half and all, with the most notifications that fit."""
    return classroom.classroom_plan(phones, seed=0)


def _study(phones: int) -> Plan:
    """Repeat the published study with one, three and six phones, as far as that many are present."""
    counts = tuple(count for count in _STUDY_COUNTS if count <= phones)
    plan = _phone_plan("study", arms_from_names(list(TRANSPORTS)), counts)
    return classroom.with_repeats(replace(plan, notifications=20, rate_hz=5.0))


def _radio_asleep(phones: int) -> Plan:
    """Measure the delay of a phone's sleeping radio: 5 s between notifications, with the radio kept awake and without."""
    arms = tuple(
        Arm(f"{transport}, radio {radio}", transport, {"radio": radio})
        for transport in TRANSPORTS
        for radio in ("warm", "idle")
    )
    plan = replace(
        _phone_plan("radio_asleep", arms, (phones,)),
        blocks=4,
        notifications=4,
        warmup_notifications=1,
        rate_hz=0.2,
        idle_s=5.0,
    )
    return classroom.with_repeats(plan)


def _big_payload(phones: int) -> Plan:
    """Compare a notification of a few lines and one of 16 KB, over each transport."""
    arms = tuple(
        Arm(f"{transport}, {payload_bytes} bytes", transport, {"payload_bytes": payload_bytes})
        for transport in TRANSPORTS
        for payload_bytes in (512, 16_384)
    )
    return classroom.with_repeats(replace(_phone_plan("big_payload", arms, (phones,)), rate_hz=5.0))


def _hundred_clients(_phones: int) -> Plan:
    """Measure the server's CPU use for up to a hundred built-in clients on its own machine."""
    return Plan(
        arms=arms_from_names(list(TRANSPORTS)),
        client_counts=(1, 10, 100),
        blocks=8,
        notifications=50,
        warmup_notifications=10,
        rate_hz=20.0,
        payload_bytes=512,
        seed=0,
        profile="hundred_clients",
        idle_s=0.5,
        settle_s=0.2,
        drain_s=5.0,
        instrument=True,
    )


PRESETS = (
    Preset("classroom", _classroom),
    Preset("study", _study),
    Preset("radio_asleep", _radio_asleep),
    Preset("big_payload", _big_payload),
    Preset("hundred_clients", _hundred_clients, built_in=True),
)


def _phone_plan(profile: str, arms: tuple[Arm, ...], client_counts: tuple[int, ...]) -> Plan:
    return Plan(
        arms=arms,
        client_counts=client_counts,
        blocks=8,
        notifications=30,
        warmup_notifications=5,
        rate_hz=10.0,
        payload_bytes=512,
        seed=0,
        profile=profile,
        idle_s=2.0,
        settle_s=1.5,
        drain_s=5.0,
        environment="lan",
    )
