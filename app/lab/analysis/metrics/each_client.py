"""The figures of each client of a trial: those of the trial, with what this one client received for all there is.

The formulas and their sources are those of `trial_metrics.py` and `arrivals.py`; a client that received nothing has its row too.
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
    """One client in one trial."""

    client: int
    """From 0; of a phone its seat in the run."""
    metrics: TrialMetrics
    arrivals: ArrivalFigures
    delay_from_sent_ms_p50: float | None
    """Received - sent; `None` without samples."""


def each_client(record: TrialRecord, plan: Plan) -> Iterator[ClientFigures]:
    """By client. `plan`: of the trial's arm. Made one by one: there may be thousands."""
    found = DeliveryColumns.of(record.deliveries)
    rows = Groups.by(np.asarray(found.client))
    places = dict(zip(rows.keys.tolist(), rows.parts(np.arange(len(found))), strict=True))
    none = np.arange(0)
    for client in record.participants or range(record.spec.clients):
        yield _figures(client, record, _taken(found, places.get(client, none)), plan)


def _figures(client: int, record: TrialRecord, deliveries: DeliveryColumns, plan: Plan) -> ClientFigures:
    # How late the source was is the trial's, and no client's.
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


def _taken(found: DeliveryColumns, places: Integers) -> DeliveryColumns:
    """These rows of it, in their order, as those of a trial's only client: there is a mean for each number below."""
    arrays = {name: np.asarray(getattr(found, name))[places] for name in NAMES}
    arrays["client"] = np.zeros_like(arrays["client"])
    return DeliveryColumns(
        **{name: array(getattr(found, name).typecode, own.tobytes()) for name, own in arrays.items()}
    )
