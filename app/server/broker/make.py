"""Creates the broker that the settings name."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from app import clock
from app.core.broker_url import RedisAddress, parse_broker_url
from app.core.errors import BrokerAway, SettingError, Unfit
from app.server.broker.base import Broker
from app.server.broker.history_cache import HistoryCache
from app.server.broker.memory import MemoryBroker
from app.server.broker.sqlite.broker import SqliteBroker
from app.server.broker.sqlite.journal import Journal
from app.settings import Settings

HANDOVER_S = 12.0
"""Wait of a worker for its predecessor, which drains for at most 7 s."""

CHECK_S = 2.0
"""Wait before a start: a predecessor that was killed may need a moment to end."""

REDIS_START_S = 10.0
"""Wait before a start: a Redis that starts at the same time may need a moment to load its data."""

TRY_AGAIN_S = 0.25
"""Pause between two attempts to reach Redis."""

logger = logging.getLogger("siar.broker")


def make_broker(settings: Settings) -> Broker:
    """Create the broker that `SIAR_BROKER` names.

    Raises `SettingError`, `Unfit` (in use, not writable) or `StoreError` (damaged, foreign), each with a message for
    people. Waits while Redis is unreachable: a worker that failed would stop the whole server, siblings included.
    """
    url = parse_broker_url(settings.broker)
    bounds = {
        "count_max": settings.history_count,
        "bytes_max": settings.history_bytes,
        "age_max_us": settings.history_age_s * 1_000_000,
    }
    if url.redis is not None:
        # With several workers there are no rooms; a single worker passes its server's name to its successor.
        server = clock.timebase() if settings.workers == 1 else ""
        return _shared(url.redis, settings.broker_ca, bounds, server)
    if url.path is None:
        return MemoryBroker(**bounds)
    journal = Journal(url.path, synchronous=url.synchronous, wait_s=HANDOVER_S)
    try:
        return SqliteBroker(journal, **bounds)
    except BaseException:
        journal.close(journal.state)
        raise


def make_history_cache(settings: Settings, broker: Broker) -> HistoryCache | None:
    """Return the cache for history responses, if the settings enable it."""
    if not settings.history_cache_ttl_s:
        return None
    from app.server.broker.redis.broker import RedisBroker

    assert isinstance(broker, RedisBroker)  # ensured by the settings' validation
    return broker.history_cache(ttl_s=settings.history_cache_ttl_s)


def check_broker(settings: Settings) -> None:
    """Raise at start what `make_broker` would raise in a worker, where nobody would read it."""
    url = parse_broker_url(settings.broker)
    if settings.broker_ca and not Path(settings.broker_ca).is_file():
        raise SettingError(f"SIAR_BROKER_CA is {settings.broker_ca}: there is no such file.")
    if url.redis is not None:
        _check_redis(url.redis, settings.broker_ca)
    elif url.path is not None:
        journal = Journal(url.path, synchronous=url.synchronous, wait_s=CHECK_S)
        journal.close(journal.state)


def _shared(address: RedisAddress, ca_file: str, bounds: dict[str, int], server: str) -> Broker:
    # Imported here: a server without Redis needs neither the library nor the time to load it.
    from app.server.broker.redis.broker import RedisBroker
    from app.server.broker.redis.link import RedisLink

    is_logged = False
    while True:
        link = RedisLink(address, ca_file=ca_file)
        try:
            return RedisBroker(link, **bounds, server=server)
        except BrokerAway as error:
            link.hang_up()
            if not is_logged:
                logger.warning("%s Waiting for it.", error)
                is_logged = True
            time.sleep(TRY_AGAIN_S)


def _check_redis(address: RedisAddress, ca_file: str) -> None:
    from app.server.broker.redis.link import RedisLink

    link = RedisLink(address, ca_file=ca_file)
    try:
        for tries_left in reversed(range(round(REDIS_START_S / TRY_AGAIN_S))):
            try:
                link.check()
                return
            except BrokerAway as error:
                if not tries_left:
                    raise Unfit(
                        f"Redis ({address}) does not answer or does not let us in: {error.__cause__}. "
                        "Start it, or name another with --broker."
                    ) from error
            time.sleep(TRY_AGAIN_S)
    finally:
        link.hang_up()
