"""Plans for phones: how many of them, how long it takes, and what fits into twelve minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.errors import Malformed
from app.core.plan.scenario import Arm, Plan, arms_from_names, trial_s
from app.core.wire import TRANSPORTS

LENGTH_S_MAX = 720.0
"""A lesson has 45 minutes, and people hold still for a quarter of that."""

_PLANNED_SHARE = 0.85
"""Of it: the rest is for blocks that must be repeated."""

_EXTRA_BLOCKS_MAX = 6
"""Where time is left for more: so many void blocks are no accident, and repeating does not mend what voids them."""

PROFILE = "classroom"
"""Plans of this name are fitted to who comes."""

COUNTDOWN_S = 5.0

CONNECT_S = 2.0
"""Phones ask twice a second what to do, connect, and say so."""

COLLECT_S = 3.0
"""After the last notification: what is late, the closing probes of the clock, posting, and saying so.

Measured: from one trial to the next 5.2 s beyond the plan's own times, on a busy machine with simulated phones.
"""

OVERHEAD_S = CONNECT_S + COLLECT_S

_NOTIFICATIONS_MIN = 20
"""Fewer make a trial's median jump about."""

_NOTIFICATIONS_MAX = 100
"""From here on there is a p95; longer trials only make people restless."""

_BLOCKS_MAX = 8
"""The least with which a verdict can pass (`lab/analysis/comparison/margins.py`)."""

_BLOCKS_MIN = 3


def phone_counts(phones: int) -> tuple[int, ...]:
    """How many phones take part, ascending: 1, about half and all; with six the published study's 1, 3 and 6."""
    return tuple(sorted({1, (phones + 1) // 2, phones}))


def with_phones(plan: Plan, phones: int) -> Plan:
    """The plan for so many phones as there are: counts that they cannot make up give way to `phone_counts`.

    More phones than planned take turns, but in a classroom, where nobody is to stand aside all the time: there trials
    become shorter where more counts would take longer than twelve minutes.
    """
    most = max(plan.client_counts)
    if most == phones or (most < phones and plan.profile != PROFILE):
        return plan
    if len(plan.client_counts) == 1:
        return replace(plan, client_counts=(phones,))
    changed = replace(plan, client_counts=phone_counts(phones))
    if plan.profile != PROFILE or length_s_max(changed) <= max(LENGTH_S_MAX, length_s_max(plan)):
        return changed
    try:
        return fitted(changed)
    except Malformed:  # So many arms that they take turns all the same.
        return plan


def length_s(plan: Plan) -> float:
    """How long a run with phones takes, nothing repeated: told before anybody joins."""
    return COUNTDOWN_S + plan.blocks * len(plan.client_counts) * _block_s(plan)


def length_s_max(plan: Plan) -> float:
    """How long it takes when every block that may be repeated is."""
    return length_s(plan) + plan.extra_blocks_max * _block_s(plan)


def with_repeats(plan: Plan) -> Plan:
    """The plan with as many repeats of void blocks as twelve minutes leave room for."""
    left_s = LENGTH_S_MAX - length_s(plan)
    count = max(0, int(left_s // _block_s(plan)))
    return replace(plan, extra_blocks_max=min(count, _EXTRA_BLOCKS_MAX))


def _block_s(plan: Plan) -> float:
    idle_s = plan.idle_s + plan.settle_s if plan.idle_s > 0 else 0.0
    return idle_s + sum(trial_s(plan, arm) + OVERHEAD_S for arm in plan.arms)


def classroom_plan(phones: int, *, seed: int, arms: Sequence[str | Arm] = TRANSPORTS) -> Plan:
    """The longest of these plans that fits: 8 blocks of 20 to 100 notifications, fewer blocks where it must be.

    10 notifications a second: phones with an idle radio sleep between beacons at longer gaps, which is the subject
    of another plan. Raises `Malformed` when the arms are too many, or too slow, for twelve minutes.
    """
    plan = Plan(
        arms=_arms(arms),
        client_counts=phone_counts(phones),
        blocks=_BLOCKS_MAX,
        notifications=_NOTIFICATIONS_MIN,
        warmup_notifications=5,
        rate_hz=10.0,
        payload_bytes=512,
        seed=seed,
        profile=PROFILE,
        idle_s=2.0,
        settle_s=1.5,
        drain_s=5.0,
        environment="lan",
    )
    return fitted(plan)


def fitted(plan: Plan) -> Plan:
    """The plan with as many blocks, then notifications, then repeats, as twelve minutes hold. Raises `Malformed`."""
    for blocks in range(_BLOCKS_MAX, _BLOCKS_MIN - 1, -1):
        for notifications in range(_NOTIFICATIONS_MAX, _NOTIFICATIONS_MIN - 1, -5):
            found = replace(plan, blocks=blocks, notifications=notifications)
            if length_s(found) <= _PLANNED_SHARE * LENGTH_S_MAX:
                return with_repeats(found)
    raise Malformed("These arms do not fit into twelve minutes: leave some out, or shorten their gaps.")


def _arms(arms: Sequence[str | Arm]) -> tuple[Arm, ...]:
    names = [each for each in arms if isinstance(each, str)]
    if len(names) == len(arms):
        return arms_from_names(names)
    return tuple(Arm(each, each) if isinstance(each, str) else each for each in arms)
