"""Figures of each client of a trial: the trial's figures, computed from one client's deliveries alone.

`trial_metrics.py` and `arrivals.py` have the formulas and their sources. A client that received nothing has a row too.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from app.core.columns import NAMES, DeliveryColumns
from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.lab.analysis.columns import Integers, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.metrics.arrivals import ArrivalFigures, arrival_figures
from app.lab.analysis.metrics.trial_metrics import TrialMetrics, measure, middle_client_ms


@dataclass(frozen=True, slots=True)
class ClientFigures:
    """The figures of one client in one trial."""

    client: int
    """The client's number from 0; for a phone, its seat in the run."""
    metrics: TrialMetrics
    arrivals: ArrivalFigures
    delay_from_sent_ms_p50: float | None
    """Median of received - sent; `None` without samples."""


def each_client(record: TrialRecord, plan: Plan) -> Iterator[ClientFigures]:
    """Yield the figures of each client, one by one since there may be thousands. `plan`: that of the trial's arm."""
    found = DeliveryColumns.of(record.deliveries)
    rows = Groups.by(np.asarray(found.client))
    places = dict(zip(rows.keys.tolist(), rows.parts(np.arange(len(found))), strict=True))
    none = np.arange(0)
    for client in record.participants or range(record.spec.clients):
        yield _figures(client, record, _rows_of_one_client(found, places.get(client, none)), plan)


def _figures(client: int, record: TrialRecord, deliveries: DeliveryColumns, plan: Plan) -> ClientFigures:
    # The lag of the source belongs to the trial and not to a client.
    alone = replace(
        record,
        spec=replace(record.spec, clients=1),
        deliveries=deliveries,
        participants=(),
        source_lag_us=(),
    )
    columns = columns_of(deliveries)
    samples = np.flatnonzero(columns.is_sample & columns.has_sent)
    since_sent_ms = (columns.received_us - columns.sent_us) / 1000
    return ClientFigures(
        client=client,
        metrics=measure(alone, plan, columns),
        arrivals=arrival_figures(alone, plan, columns),
        delay_from_sent_ms_p50=middle_client_ms(columns, samples, since_sent_ms),
    )


def _rows_of_one_client(found: DeliveryColumns, places: Integers) -> DeliveryColumns:
    """Copy the rows at these places, in their order, and number their client 0.

    `TrialMetrics.client_means_ms` has an entry for each number up to the client's.
    """
    arrays = {name: np.asarray(getattr(found, name))[places] for name in NAMES}
    arrays["client"] = np.zeros_like(arrays["client"])
    return DeliveryColumns(
        **{name: array(getattr(found, name).typecode, own.tobytes()) for name, own in arrays.items()}
    )
