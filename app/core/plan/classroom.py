"""Plans for phones: counts of phones, the length of a run, and plans that fit into twelve minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.errors import Malformed
from app.core.plan.scenario import Arm, Plan, arms_from_names, trial_s
from app.core.wire import TRANSPORTS

LENGTH_S_MAX = 720.0
"""Greatest length of a run: a lesson has 45 minutes, and people stay still for about a quarter of that."""

_PLANNED_SHARE = 0.85
"""Share of that time that is planned; the rest is for blocks that must be repeated."""

_EXTRA_BLOCKS_MAX = 6
"""Limit of repeated blocks even if time is left: so many invalid blocks have a cause that repeating does not remove."""

PROFILE = "classroom"
"""Profile of plans that are adapted to the number of phones present."""

COUNTDOWN_S = 5.0

CONNECT_S = 2.0
"""Time before a trial: phones poll for instructions twice a second, connect, and report it."""

COLLECT_S = 3.0
"""Time after the last notification: late arrivals, the closing probes of the clock, posting, and the report of it.

Measured: 5.2 s from one trial to the next beyond the plan's own times, on a busy machine with simulated phones.
"""

OVERHEAD_S = CONNECT_S + COLLECT_S

_NOTIFICATIONS_MIN = 20
"""Least notifications per trial; with fewer a trial's median is unstable."""

_NOTIFICATIONS_MAX = 100
"""Most notifications per trial; these suffice for a p95, and longer trials make people restless."""

_BLOCKS_MAX = 8
"""Most blocks: the least number with which a verdict can pass (`lab/analysis/comparison/margins.py`)."""

_BLOCKS_MIN = 3


def phone_counts(phones: int) -> tuple[int, ...]:
    """Return the counts of phones to compare, ascending: 1, about half, all. With six these are the published 1, 3 and 6."""
    return tuple(sorted({1, (phones + 1) // 2, phones}))


def with_phones(plan: Plan, phones: int) -> Plan:
    """Adapt a plan to the phones present: counts that are too large are replaced by `phone_counts`.

    If more phones than planned are present, they take part in turn. In a classroom plan everybody takes part in the
    largest count instead, and trials become shorter if the run would exceed twelve minutes.
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
    except Malformed:  # Too many arms for twelve minutes: the phones take part in turn after all.
        return plan


def length_s(plan: Plan) -> float:
    """Return the length of a run with phones without repeated blocks, seconds; shown before anybody joins."""
    return COUNTDOWN_S + plan.blocks * len(plan.client_counts) * _block_s(plan)


def length_s_max(plan: Plan) -> float:
    """Return the length of a run in which every block that may be repeated is repeated, seconds."""
    return length_s(plan) + plan.extra_blocks_max * _block_s(plan)


def with_repeats(plan: Plan) -> Plan:
    """Return the plan with as many repeats of invalid blocks as fit into the rest of twelve minutes."""
    left_s = LENGTH_S_MAX - length_s(plan)
    count = max(0, int(left_s // _block_s(plan)))
    return replace(plan, extra_blocks_max=min(count, _EXTRA_BLOCKS_MAX))


def _block_s(plan: Plan) -> float:
    idle_s = plan.idle_s + plan.settle_s if plan.idle_s > 0 else 0.0
    return idle_s + sum(trial_s(plan, arm) + OVERHEAD_S for arm in plan.arms)


def classroom_plan(phones: int, *, seed: int, arms: Sequence[str | Arm] = TRANSPORTS) -> Plan:
    """Return the longest classroom plan that fits: 8 blocks, or fewer if necessary, of 20 to 100 notifications.

    The rate is 10 notifications per second. At longer gaps the radio of an idle phone sleeps between beacons, which is
    the subject of another plan. Raises `Malformed` if the arms are too many, or too slow, for twelve minutes.
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
    """Maximise blocks, then notifications, then repeats within twelve minutes. Raises `Malformed` if nothing fits."""
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
