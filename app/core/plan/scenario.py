"""Plan of an experiment, and the order of trials, which is determined by the plan and its seed.

    Plan -> blocks -> trials

A block contains every arm once, all with the same count of clients, in random order. The next block of that count
mirrors the order (AB BA, then a new draw), so that a drift that is linear in time cancels within the pair.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from app.core.errors import Malformed
from app.core.sentence import Sentence
from app.core.wire import TRANSPORTS

CLIENTS_MAX = 20_000
"""Greatest number of clients in one trial."""

LIVE_PROFILE = "live"
"""Profile of a live run, which is no experiment: phones that came and went while a server ran."""

Factors = Mapping[str, str | int | float | bool]

_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
}
"""Python types that JSON may have for a field of this type; `true` is not accepted as a number."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the alternatives that a plan compares."""

    name: str
    """Unique in the plan: the transport's name, with a suffix ".1", ".2" if the same arm is there twice."""
    transport: str
    factors: Factors = field(default_factory=dict)
    """Further settings of the arm, by name; recorded with each trial."""

    def __post_init__(self) -> None:
        if self.transport not in TRANSPORTS:
            raise Malformed(f'"{self.transport}" is no transport; there are: {", ".join(TRANSPORTS)}.')


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is fixed before the first trial; its hash is part of the report."""

    arms: tuple[Arm, ...]
    client_counts: tuple[int, ...]
    blocks: int
    """Number of blocks per count of clients."""
    notifications: int
    """Number of measured notifications per trial."""
    warmup_notifications: int
    """Number of notifications before them in the same trial, which are marked and excluded from every figure."""
    rate_hz: float
    payload_bytes: int
    """Length of the notification's JSON object on the wire."""
    seed: int
    profile: str = "demo"
    idle_s: float = 0.4
    """Length of each block's idle window, in which the clients are connected and nothing is sent."""
    settle_s: float = 0.1
    """Time from the last client's readiness to the first due time."""
    drain_s: float = 5.0
    """Time after the last due time. A later arrival is late; what has not arrived at the trial's end is lost."""
    extra_blocks_max: int = 3
    """Total number of invalid blocks that may be repeated."""
    environment: str = "loopback"
    """`"loopback"` or `"lan"`, which selects the equivalence margin."""
    instrument: bool = False
    """True: the server records when the kernel accepted each write, so that a delay can be split."""

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        for wrong, code, sentence in (
            (not self.arms, "plan_no_arm", "A plan needs at least one arm."),
            (len(set(names)) != len(names), "plan_arm_twice", "Two arms have the same name."),
            (not self.client_counts, "plan_no_count", "A plan needs at least one count of clients."),
            (
                any(not 1 <= n <= CLIENTS_MAX for n in self.client_counts),
                "plan_count_range",
                "A count of clients is 1 to 20000.",
            ),
            (
                len(set(self.client_counts)) != len(self.client_counts),
                "plan_count_twice",
                "A count of clients is there twice.",
            ),
            (not 1 <= self.blocks <= 1000, "plan_blocks_range", "The number of blocks is 1 to 1000."),
            (
                not 1 <= self.notifications <= 100_000,
                "plan_notifications_range",
                "The notifications of a trial are 1 to 100000.",
            ),
            (
                not 0 <= self.warmup_notifications <= 10_000,
                "plan_warmup_range",
                "The warm-up notifications are 0 to 10000.",
            ),
            (not 0.01 <= self.rate_hz <= 1000, "plan_rate_range", "The rate is 0.01 to 1000 per second."),
            (
                not 256 <= self.payload_bytes <= 16_384,
                "plan_payload_range",
                "The payload is 256 to 16384 bytes.",
            ),
            (not 0 <= self.idle_s <= 600, "plan_idle_range", "The idle window is 0 to 600 seconds."),
            (
                not 0.03 <= self.settle_s <= 60,
                "plan_settle_range",
                "The settling time is 0.03 to 60 seconds.",
            ),
            (not 0.1 <= self.drain_s <= 60, "plan_drain_range", "The drain time is 0.1 to 60 seconds."),
            (not 0 <= self.extra_blocks_max <= 100, "plan_extra_range", "The extra blocks are 0 to 100."),
            (
                self.environment not in ("loopback", "lan"),
                "plan_environment",
                'The environment is "loopback" or "lan".',
            ),
        ):
            if wrong:
                raise Malformed(Sentence(sentence, f"refusal.{code}", {}))


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """One trial of the plan, with one arm and one count of clients; or an idle window."""

    index: int
    """0-based number in the order of the whole run; it identifies the trial within the run."""
    block: int
    """0-based number of its block among those with the same count of clients."""
    clients: int
    arm: Arm
    """For an idle window: the arm with whose transport the clients are connected."""
    idle: bool = False


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """A block: the unit of comparison, which is repeated as a whole if a part of it is invalid."""

    block: int
    clients: int
    arms: tuple[Arm, ...]
    """Arms in the order in which they run."""
    idle_arm: Arm
    replaces: int
    """Number of the planned block that it replaces; its own number, unless it repeats an invalid block."""


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Encode a plan as plain JSON values, every field by its name.

    `instrument` is included only if it is on, so that plans from before this field keep their hash.
    """
    values: dict[str, Any] = json.loads(json.dumps(asdict(plan)))
    if not plan.instrument:
        del values["instrument"]
    return values


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    """Decode what `plan_to_json` returned. Raises `Malformed` for anything else."""
    names = {each.name for each in fields(Plan)}
    try:
        unknown = sorted(map(str, set(value) - names))
        if unknown:
            raise Malformed(f"A plan has no field {unknown[0]!r}; there are: {', '.join(sorted(names))}.")
        arms = tuple(
            Arm(arm["name"], arm["transport"], dict(arm.get("factors", {}))) for arm in value["arms"]
        )
        plan = Plan(**{**value, "arms": arms, "client_counts": tuple(value["client_counts"])})
        plans = [plan, *(arm_plan(plan, arm) for arm in arms)]  # A plan's limits hold for factors too.
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise Malformed(f"This is not a plan: {error}.") from error
    for each in plans:
        _check_kinds(each)
    return plan


def _check_kinds(plan: Plan) -> None:
    """Raise `Malformed` if a value has another type than its field, since a plan may come from a foreign archive."""
    values = [(each.name, str(each.type), getattr(plan, each.name)) for each in fields(Plan)]
    values += [("client_counts", "int", count) for count in plan.client_counts]
    values += [("name of an arm", "str", arm.name) for arm in plan.arms]
    for name, kind, value in values:
        if kind in _KINDS and type(value) not in _KINDS[kind]:
            raise Malformed(f"This is not a plan: its {name} is {str(value)[:40]!r}.")


def plan_sha256(plan: Plan) -> str:
    """Return the hash of the plan's content, which was fixed before the first trial."""
    return hashlib.sha256(json.dumps(plan_to_json(plan), sort_keys=True).encode()).hexdigest()


def arms_from_names(names: list[str]) -> tuple[Arm, ...]:
    """Build arms from transport names; a repeated name makes an A/A run with the arms `sse.1`, `sse.2`."""
    seen: dict[str, int] = {}
    arms = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        label = f"{name}.{seen[name]}" if names.count(name) > 1 else name
        arms.append(Arm(label, name))
    return tuple(arms)


def schedule(plan: Plan) -> Iterator[BlockSpec]:
    """Yield the plan's blocks in the order in which they run; reproducible for the same plan and seed.

    Within a repetition the counts of clients come in random order. An invalid block is not drawn again here, but
    repeated by `repeat_of`, so that the order of the planned blocks never depends on which were invalid.
    """
    rng = random.Random(f"siar order {plan.seed}")
    last_order: dict[int, tuple[Arm, ...]] = {}
    for block in range(plan.blocks):
        counts = list(plan.client_counts)
        rng.shuffle(counts)
        for clients in counts:
            if block % 2 == 0:
                arms = list(plan.arms)
                rng.shuffle(arms)
                order = tuple(arms)
            else:
                order = tuple(reversed(last_order[clients]))
            last_order[clients] = order
            yield BlockSpec(block, clients, order, order[rng.randrange(len(order))], replaces=block)


def repeat_of(invalid: BlockSpec, *, block: int) -> BlockSpec:
    """Return the block that replaces an invalid one: the same order under a new number."""
    return replace(invalid, block=block)


def trial_s(plan: Plan, arm: Arm) -> float:
    """Return the length of a trial of this arm from readiness to its last due time, seconds."""
    own = arm_plan(plan, arm)
    return own.settle_s + (own.warmup_notifications + own.notifications) / own.rate_hz


def arm_plan(plan: Plan, arm: Arm) -> Plan:
    """Return the plan with the payload and the gap that the factors of one arm set."""
    changes: dict[str, Any] = {}
    if "payload_bytes" in arm.factors:
        changes["payload_bytes"] = arm.factors["payload_bytes"]
    if "gap_s" in arm.factors:
        changes["rate_hz"] = 1 / float(arm.factors["gap_s"])
    return replace(plan, **changes) if changes else plan
