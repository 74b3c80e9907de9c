"""Rows of `deliveries.csv`, made column by column: a run may have millions, and single rows take four times as long.

The columns and their meaning are `csv_files.DELIVERY_COLUMNS`, in the order of `_cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isnan

import numpy as np
from numpy.typing import NDArray

from app.core.columns import LIFECYCLES, NO_INTEGER, OUTCOMES, STATES
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.columns import Columns, Floats, Integers, Mask, columns_of
from app.lab.analysis.metrics.writes import NOT_WRITTEN, ServerWrites, server_writes
from app.lab.report.data.cells import text_cell

Cell = str | int

ROWS_AT_ONCE = 20_000
"""Rows that are made together: few enough that their cells need little memory."""


def delivery_rows(analysis: Analysis) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for every delivery of every trial, warm-up and invalid trials included."""
    for trial in analysis.trials:
        spec = trial.record.spec
        # Only these words are chosen by people, so only these may begin like a formula.
        run, arm = text_cell(analysis.run.id), text_cell(spec.arm.name)
        head = (run, spec.index, spec.block, arm, spec.arm.transport, spec.clients)
        columns = columns_of(trial.record.deliveries)
        writes = server_writes(trial.record, columns)
        for start in range(0, len(columns.client), ROWS_AT_ONCE):
            cells = _cells(columns, writes, slice(start, start + ROWS_AT_ONCE))
            yield from ((*head, *row) for row in zip(*cells, strict=True))


def _cells(columns: Columns, writes: ServerWrites, part: slice) -> list[Iterable[Cell]]:
    """Return the columns from `client` on, for one part of a trial."""
    raw = columns.deliveries
    # For this part only: computed for the whole trial, it would be computed again for each part.
    since_sent_us = columns.received_us[part] - columns.sent_us[part]
    since_sent_ms = np.where(columns.has_sent[part], since_sent_us / 1000, np.nan)
    return [
        _integers(columns.client[part]),
        _integers(columns.seq[part]),
        _flags(columns.warmup[part]),
        _integers(np.asarray(raw.offset)[part], NO_INTEGER),
        _integers(columns.due_us[part]),
        _integers(columns.sent_us[part], NO_INTEGER),
        _floats(columns.received_client_us[part]),
        _floats(columns.clock_offset_us[part]),
        _floats(columns.clock_bound_us[part]),
        _floats(columns.kernel_received_us[part]),
        _floats(columns.delay_ms[part]),
        _floats(since_sent_ms),
        _words(columns.state[part], STATES),
        _words(columns.outcome[part], OUTCOMES),
        _flags(np.asarray(raw.visible)[part] != 0),
        _flags(columns.is_sample[part]),
        _integers(writes.accepted_us[part], NOT_WRITTEN),
        _integers(writes.place[part], NOT_WRITTEN),
        _words(np.asarray(raw.lifecycle)[part], LIFECYCLES),
    ]


def _integers(values: Integers, absent: int | None = None) -> list[Cell]:
    return ["" if value == absent else value for value in values.tolist()]


def _floats(values: Floats) -> list[Cell]:
    # As in `float_text`, which is not called: ten million calls take as long as all the rest.
    return ["" if isnan(value) else f"{value:.6f}".rstrip("0").rstrip(".") for value in values.tolist()]


def _flags(values: Mask) -> list[Cell]:
    return [int(value) for value in values.tolist()]


def _words(codes: NDArray[np.int8], meanings: Sequence[str]) -> list[Cell]:
    # Converted once per meaning: converting a member of an enumeration for each row is slow.
    texts = [str(meaning) for meaning in meanings]
    return [texts[code] for code in codes.tolist()]
