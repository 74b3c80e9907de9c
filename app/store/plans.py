"""The demo's plan, plans from TOML files or page fields, and checks of arms' factors."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.core.broker_url import parse_broker_url
from app.core.errors import Malformed, SettingError
from app.core.plan.scenario import LIVE_PROFILE, Arm, Plan, arms_from_names, plan_from_json
from app.core.wire import START_AFTER_MS_MAX, TRANSPORT_SOCKETIO, TRANSPORTS
from app.i18n import refusal

PLAN_BYTES_MAX = 65_536

PHONE_NOTIFICATIONS_MAX = 1_400
"""Most notifications of a trial, warm-up included: a phone posts after the trial, so all must fit into its outbox.

The outbox holds 2,000 (`static/js/outbox.js`). 500 may be duplicates (`static/js/trial_session.js`); the rest is for
the lifecycle report, the probes of its clock, and leftovers of the previous trial.
"""

_DEMO_CLIENT_COUNTS = (1, 3, 6)
"""Client counts of the published study."""


def demo_plan(*, seed: int, quick: bool = False, arms: Sequence[str] = TRANSPORTS) -> Plan:
    """Return the plan of `./siar demo`, which takes about 70 s, or under 20 s with `quick`, after set-up.

    - 8 blocks: with 5 an exact two-sided test cannot go below 0.06, and 8 are the least with which the three client
      counts can pass together (measurement.md sections 4 and 5).
    - 100 notifications at 100/s: a trial of one second, with about 30 ms of CPU on a nanosecond clock and a stable
      median. `quick` sends 50 at the same rate, because CPU per notification depends on the rate.
    - 512 bytes: a title, a sentence and a link.
    """
    return Plan(
        arms=arms_from_names(list(arms)),
        client_counts=_DEMO_CLIENT_COUNTS,
        blocks=3 if quick else 8,
        notifications=50 if quick else 100,
        warmup_notifications=10,
        rate_hz=100.0,
        payload_bytes=512,
        seed=seed,
        profile="quick" if quick else "demo",
        idle_s=0.25 if quick else 0.4,
        settle_s=0.05,
        drain_s=5.0,
        extra_blocks_max=1 if quick else 3,
        instrument=True,
    )


def load_plan(path: Path, *, seed: int | None = None) -> Plan:
    """Read a plan from a TOML file. Raises `Malformed` with a sentence that names the file.

    The keys are the fields of `Plan`; missing ones are as in the demo, except `arms`, which is required. An arm is a
    transport's name or a table with `name`, `transport` and further factors. `seed` overrides the file's seed.
    """
    try:
        if path.stat().st_size > PLAN_BYTES_MAX:
            raise Malformed(f"{path} is longer than {PLAN_BYTES_MAX} bytes: this is no plan.")
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Editors on Windows may write a BOM.
    except OSError as error:
        raise Malformed(f"The plan {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"The plan {path} is not TOML: {error}.") from error
    try:
        return plan_of_values(content, seed=seed)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from error


def plan_of_values(content: dict[str, Any], *, seed: int | None) -> Plan:
    """Build a plan from plain values of a file or a page; missing ones are as in the demo. Raises `Malformed`."""
    defaults = demo_plan(seed=0)
    values: dict[str, Any] = {
        "client_counts": list(defaults.client_counts),
        "blocks": defaults.blocks,
        "notifications": defaults.notifications,
        "warmup_notifications": defaults.warmup_notifications,
        "rate_hz": defaults.rate_hz,
        "payload_bytes": defaults.payload_bytes,
        "profile": "plan",
        "instrument": defaults.instrument,
        "seed": 0,
        **content,
    }
    values["arms"] = [
        {"name": a.name, "transport": a.transport, "factors": a.factors} for a in _arms(content)
    ]
    if values["profile"] == LIVE_PROFILE:
        raise Malformed(refusal("plan_profile_live", profile=LIVE_PROFILE))
    _check_types(values)
    plan = plan_from_json(values)
    return plan if seed is None else replace(plan, seed=seed)


def _arms(content: dict[str, Any]) -> tuple[Arm, ...]:
    given = content.get("arms")
    if not isinstance(given, list) or not given:
        raise Malformed(refusal("plan_without_arms"))
    if all(isinstance(arm, str) for arm in given):
        return arms_from_names(given)
    return tuple(_arm(arm) for arm in given)


def _arm(given: Any) -> Arm:
    if isinstance(given, str):
        return Arm(given, given)
    if not isinstance(given, dict) or not isinstance(given.get("transport"), str):
        raise Malformed(refusal("arm_malformed"))
    # A stored plan has the factors in a table of their own, a file next to the arm's name.
    nested = given.get("factors", {})
    flat = {key: value for key, value in given.items() if key not in ("name", "transport", "factors")}
    if not isinstance(nested, dict):
        raise Malformed(refusal("factors_malformed"))
    factors = {**nested, **flat}
    for key, value in factors.items():
        if key not in _FACTORS:
            # A factor that is recorded without effect would be a false record: two equal arms under different names.
            raise _unknown_factor(key)
        _FACTORS[key](value)
    name = given.get("name", given["transport"])
    if not isinstance(name, str) or not 1 <= len(name) <= 64:
        raise Malformed(refusal("arm_name_malformed"))
    return Arm(name, given["transport"], factors)


def _check_via(value: Any) -> None:
    """Check `via`, the base URL of a TCP proxy in front of the server."""
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        good = parts.scheme == "http" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        good = False
    if not good:
        raise Malformed(refusal("factor_via", value=_shown(value)))


def _check_fanout(value: Any) -> None:
    """Check `fanout`, the way in which the server writes to the arm's clients."""
    if value not in ("direct", "stock"):
        raise Malformed(refusal("factor_fanout", value=_shown(value)))


def _check_broker(value: Any) -> None:
    """Check `broker`, the URL of the order and history of the arm's server; each broker gets its own server."""
    try:
        url = parse_broker_url(value if isinstance(value, str) else "")
    except SettingError as error:
        raise Malformed(refusal("factor_broker", reason=str(error))) from error
    if url.redis is not None and (url.redis.password or url.redis.username):
        raise Malformed(refusal("factor_broker_password"))


def _check_radio(value: Any) -> None:
    """Check `radio`: a phone with "warm" keeps its radio awake with a small packet every 100 ms."""
    if value not in ("warm", "idle"):
        raise Malformed(refusal("factor_radio", value=_shown(value)))


def _check_polling(value: Any) -> None:
    """Check `polling`: a page's Socket.IO begins with long-polling, as the library does by default."""
    if not isinstance(value, bool):
        raise Malformed(refusal("factor_polling", value=_shown(value)))


def _check_compression(value: Any) -> None:
    """Check `compression`: the server compresses what it sends to the arm's phones."""
    if not isinstance(value, bool):
        raise Malformed(refusal("factor_compression", value=_shown(value)))


def _check_payload(value: Any) -> None:
    """Check `payload_bytes`, the length of the arm's notifications on the wire."""
    if not isinstance(value, int) or isinstance(value, bool) or not 256 <= value <= 16_384:
        raise Malformed(refusal("factor_payload", value=_shown(value)))


def _check_gap(value: Any) -> None:
    """Check `gap_s`, the time between the arm's notifications."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.001 <= value <= 60:
        raise Malformed(refusal("factor_gap", value=_shown(value)))


_FACTORS: dict[str, Callable[[Any], None]] = {
    "via": _check_via,
    "fanout": _check_fanout,
    "broker": _check_broker,
    "radio": _check_radio,
    "polling": _check_polling,
    "compression": _check_compression,
    "payload_bytes": _check_payload,
    "gap_s": _check_gap,
}
"""Factors that can be set for an arm in addition to its transport, with their checks."""

_PHONE_FACTORS = ("radio", "polling", "compression")
_BUILT_IN_FACTORS = ("via", "fanout", "broker")


def check_for_phones(plan: Plan) -> None:
    """Check that phones can run the plan. Raises `Malformed`.

    - A factor without effect on phones would be a false record.
    - A trial with more notifications than a phone can hold would lose its beginning on every phone.
    - A trial after a longer idle window than the source waits would be refused only after the phones have gathered.
    """
    _check_factors(plan, refused=_BUILT_IN_FACTORS, useless="factor_useless_phones")
    if any(arm.factors.get("polling") and arm.transport != TRANSPORT_SOCKETIO for arm in plan.arms):
        raise Malformed(refusal("polling_without_socketio"))
    if plan.environment != "lan":
        raise Malformed(refusal("phones_need_lan"))
    count = plan.warmup_notifications + plan.notifications
    if count > PHONE_NOTIFICATIONS_MAX:
        raise Malformed(refusal("phones_hold_fewer", wanted=count, count=PHONE_NOTIFICATIONS_MAX))
    lead_s, lead_s_max = idle_lead_s(plan), START_AFTER_MS_MAX / 1000
    if plan.idle_s > 0 and lead_s > lead_s_max:
        raise Malformed(refusal("phones_idle_shorter", wanted=lead_s, seconds=lead_s_max))


def idle_lead_s(plan: Plan) -> float:
    """Return how far ahead a trial after an idle window is announced to phones, which do not poll in the meantime."""
    return 2 * plan.settle_s + plan.idle_s


def check_for_built_in(plan: Plan) -> None:
    """Check that built-in clients can run the plan. Raises `Malformed`."""
    _check_factors(plan, refused=_PHONE_FACTORS, useless="factor_useless_clients")
    if plan.environment != "loopback":
        raise Malformed(refusal("clients_need_loopback"))


def _check_factors(plan: Plan, *, refused: Sequence[str], useless: str) -> None:
    """Check all arms' factors. Raises `Malformed`, with the code `useless` for a factor that is in `refused`."""
    for arm in plan.arms:
        for name, value in arm.factors.items():
            if name in refused:
                raise Malformed(refusal(useless, arm=arm.name[:64], factor=name))
            if name not in _FACTORS:
                raise _unknown_factor(name)
            _FACTORS[name](value)


def _check_types(values: dict[str, Any]) -> None:
    """Check the types of a plan's values: TOML distinguishes numbers, and a plan must not accept text or true for one."""
    whole = {"blocks", "notifications", "warmup_notifications", "payload_bytes", "seed", "extra_blocks_max"}
    numbers = {"rate_hz", "idle_s", "settle_s", "drain_s"}
    for key, value in values.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if key in whole and not is_whole:
            raise Malformed(refusal("plan_whole_number", field=key, value=_shown(value)))
        if key in numbers and not (is_whole or isinstance(value, float)):
            raise Malformed(refusal("plan_number", field=key, value=_shown(value)))
        if key == "instrument" and not isinstance(value, bool):
            raise Malformed(refusal("plan_boolean", field=key, value=_shown(value)))
        if key in ("profile", "environment") and not isinstance(value, str):
            raise Malformed(refusal("plan_text", field=key, value=_shown(value)))
    counts = values["client_counts"]
    if not isinstance(counts, list) or not all(
        isinstance(n, int) and not isinstance(n, bool) for n in counts
    ):
        raise Malformed(refusal("client_counts_malformed"))


def _unknown_factor(name: str) -> Malformed:
    return Malformed(refusal("factor_unknown", name=name[:64], names=", ".join(_FACTORS)))


def _shown(value: object) -> str:
    """Return a value as it was written, cut to a limit, since a page may have sent it."""
    return repr(value)[:64]
