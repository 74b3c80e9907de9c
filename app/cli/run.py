"""`./siar run PLAN`: run an experiment from a plan file, or from the default plan changed by flags.

It uses built-in clients on its own server or, with `--phones N`, phones on the LAN.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from app.cli import certificate, measuring, run_phones
from app.core.errors import Malformed
from app.core.plan.scenario import Plan
from app.core.wire import TRANSPORTS
from app.store.plans import check_for_built_in, demo_plan, load_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the plan file and the flags that change its plan or the default one."""
    parser.add_argument(
        "plan", nargs="?", type=Path, metavar="PLAN", help="a TOML file (default: the demo's plan)"
    )
    parser.add_argument("--arms", metavar="A,B", help="transports to compare")
    parser.add_argument("--clients", metavar="N,N", help="counts of clients, as in 1,3,6")
    parser.add_argument("--blocks", type=int, metavar="N", help="blocks per count of clients")
    parser.add_argument("--notifications", type=int, metavar="N", help="measured notifications per trial")
    parser.add_argument("--rate", type=float, metavar="PER_S", help="notifications per second")
    parser.add_argument(
        "--payload-bytes", type=int, metavar="N", help="length of a notification's JSON object"
    )
    parser.add_argument(
        "--phones",
        type=int,
        metavar="N",
        help="serve the LAN, wait for so many phones, and measure with them",
    )
    parser.add_argument("--host", help="with --phones: address to listen on (default: every network)")
    parser.add_argument("--port", type=int, help="with --phones: TCP port (default: 8080)")
    parser.add_argument("--no-qr", action="store_true", help="with --phones: no QR code in the terminal")
    parser.add_argument(
        "--no-check",
        action="store_true",
        help="with --phones: do not look at the machine first (`siar doctor`)",
    )
    certificate.add_arguments(parser, "with --phones: ")
    measuring.add_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its result."""
    if arguments.phones is not None:
        wanted = run_phones.plan_for_phones(arguments)
        changed = _changed(wanted, arguments)
        if changed != wanted:
            changed = replace(changed, profile="plan")
        return run_phones.execute(changed, arguments)
    for name in ("host", "port", *certificate.NAMES):
        if getattr(arguments, name) is not None:
            raise Malformed(f"--{name} goes with --phones; built-in clients need no address.")
    plan = measuring.instrumented(_plan(arguments), arguments.instrument)
    return measuring.measure(plan, measuring.ending_of(arguments))


def _plan(arguments: argparse.Namespace) -> Plan:
    if arguments.plan is not None:
        plan = load_plan(arguments.plan, seed=arguments.seed)
    else:
        arms = measuring.parse_arms(arguments.arms or ",".join(TRANSPORTS))
        plan = replace(demo_plan(seed=measuring.seed_or_random(arguments.seed), arms=arms), profile="plan")
    check_for_built_in(plan)
    return _changed(plan, arguments)


def _changed(plan: Plan, arguments: argparse.Namespace) -> Plan:
    """Return the plan with the flags applied."""
    if arguments.plan is not None and arguments.arms is not None:
        raise Malformed("The arms are in the plan file; leave --arms out.")
    changes = {
        "client_counts": None if arguments.clients is None else _counts(arguments.clients),
        "blocks": arguments.blocks,
        "notifications": arguments.notifications,
        "rate_hz": arguments.rate,
        "payload_bytes": arguments.payload_bytes,
    }
    return replace(plan, **{name: value for name, value in changes.items() if value is not None})


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise Malformed(
            f'--clients is "{text}"; it must be whole numbers with commas, as in 1,3,6.'
        ) from None
