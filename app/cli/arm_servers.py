"""Servers for arms that name a broker: one per broker, in addition to the run's own, all on one clock.

Only the server of the current trial has clients; the others idle. In Redis, each server uses a key prefix of this run.
The history below that prefix is deleted at the end of the run, so that a shared Redis is left as it was.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from app import clock
from app.core.broker_url import parse_broker_url
from app.core.errors import SiarError
from app.core.plan.scenario import Plan
from app.lab.run import server_process
from app.lab.run.api import Server

logger = logging.getLogger("siar.run")


def clock_settings() -> dict[str, str]:
    """Return the settings that give all servers of one run the same clock."""
    return {"SIAR_ANCHOR_US": str(clock.anchor_us()), "SIAR_TIMEBASE": clock.timebase()}


@contextlib.contextmanager
def started(
    plan: Plan, *, runs_dir: Path, settings: Mapping[str, str], run_id: str
) -> Iterator[dict[str, Server]]:
    """Start one server per broker and yield them, keyed by the broker as the arms name it. Raises `Unfit`."""
    brokers = sorted({str(arm.factors["broker"]) for arm in plan.arms if "broker" in arm.factors})
    with contextlib.ExitStack() as stack:
        servers = {}
        for broker in brokers:
            url = _with_run_prefix(broker, run_id)
            if url != broker:
                stack.callback(_delete_history, url, settings.get("SIAR_BROKER_CA", ""))
            own = {**settings, **clock_settings(), "SIAR_BROKER": url, "SIAR_WORKERS": "1"}
            servers[broker] = stack.enter_context(
                server_process.start(runs_dir=runs_dir, settings=own)
            ).server
        yield servers


def _with_run_prefix(broker: str, run_id: str) -> str:
    if parse_broker_url(broker).redis is None or "?" in broker:
        return broker
    return f"{broker}?prefix=siar-{run_id}"


def _delete_history(url: str, ca_file: str) -> None:
    # Imported here, because runs without Redis need not load its library.
    from app.server.broker.redis.link import RedisLink

    address = parse_broker_url(url).redis
    assert address is not None
    link = RedisLink(address, ca_file=ca_file)
    try:
        link.forget()
    except SiarError as error:
        logger.warning("The run's history stays in Redis: %s", error)
    finally:
        link.hang_up()
