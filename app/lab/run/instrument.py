"""The server's record of a trial's connections, each assigned to its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo
from app.store.store import Published

Address = tuple[str, int]


def instrument_record(
    answer: Mapping[str, Any],
    published: Sequence[Published],
    addresses: Mapping[int, Sequence[Address]],
) -> InstrumentRecord:
    """Return the record in a response of `GET /api/trials/<run>/<trial>/instrument`.

    Connections are assigned by `addresses`, the clients' local ends. A connection through a proxy gets no client, because
    the server sees the proxy's address only.
    """
    owners = {address: client for client, own in addresses.items() for address in own}
    sent_us = {each.seq: each.sent_us for each in published}
    return InstrumentRecord(
        absent=answer["absent"],
        dropped=int(answer["dropped"]),
        connections=tuple(_connection(each, owners, sent_us) for each in answer["connections"]),
    )


def _connection(
    found: Mapping[str, Any], owners: Mapping[Address, int], sent_us: Mapping[int, int]
) -> ConnectionRecord:
    address, port = str(found["address"]), int(found["port"])
    return ConnectionRecord(
        client=owners.get((address, port)),
        address=address,
        port=port,
        accepted=tuple(
            (seq, sent_us[seq] + after_sent_us)
            for seq, after_sent_us in enumerate(found["accepted_us"])
            if after_sent_us is not None and seq in sent_us
        ),
        before=_tcp(found["before"]),
        after=_tcp(found["after"]),
    )


def _tcp(found: Mapping[str, Any] | None) -> TcpInfo | None:
    return None if found is None else TcpInfo(**found)
