"""`./siar demo`: compare SSE and Socket.IO with 1, 3 and 6 built-in clients."""

from __future__ import annotations

import argparse

from app.cli import measuring
from app.core.wire import TRANSPORTS
from app.store.plans import demo_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `demo`; none is required."""
    parser.add_argument("--quick", action="store_true", help="3 blocks instead of 8: no verdict, but in 25 s")
    parser.add_argument(
        "--arms",
        default=",".join(TRANSPORTS),
        metavar="A,B",
        help="what to compare (default: sse,socketio); the same twice is a run against itself",
    )
    measuring.add_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the demo's plan and print its result."""
    arms = measuring.parse_arms(arguments.arms)
    plan = demo_plan(seed=measuring.seed_or_random(arguments.seed), quick=arguments.quick, arms=arms)
    return measuring.measure(
        measuring.instrumented(plan, arguments.instrument), measuring.ending_of(arguments)
    )
