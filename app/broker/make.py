"""The broker that the settings ask for."""

from __future__ import annotations

from app.broker.base import Broker
from app.broker.journal import Journal
from app.broker.memory import MemoryBroker
from app.broker.sqlite import SqliteBroker
from app.core.broker_url import parse_broker_url
from app.settings import Settings

HANDOVER_S = 12.0
"""A worker waits so long for the one that it replaces, which drains for at most 7 s."""

CHECK_S = 2.0
"""Before a server is started: a predecessor that has been killed may need a moment to end."""


def make_broker(settings: Settings) -> Broker:
    """Order and history where `SIAR_BROKER` says.

    Raises `SettingError`, `Unfit` (in use, not writable) or `StoreError` (damaged, foreign) in words.
    """
    url = parse_broker_url(settings.broker)
    bounds = {
        "count_max": settings.history_count,
        "bytes_max": settings.history_bytes,
        "age_max_us": settings.history_age_s * 1_000_000,
    }
    if url.path is None:
        return MemoryBroker(**bounds)
    journal = Journal(url.path, synchronous=url.synchronous, wait_s=HANDOVER_S)
    try:
        return SqliteBroker(journal, **bounds)
    except BaseException:
        journal.close(journal.state)
        raise


def check_broker(settings: Settings) -> None:
    """Raise now, in words, what `make_broker` would raise in a worker, where nobody reads it."""
    url = parse_broker_url(settings.broker)
    if url.path is not None:
        journal = Journal(url.path, synchronous=url.synchronous, wait_s=CHECK_S)
        journal.close(journal.state)
