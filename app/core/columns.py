"""Deliveries of a trial stored as columns: 90 bytes per row instead of about 700, with the interface of a sequence.

Three thousand clients and six hundred notifications make 1.8 million rows. As objects they would exceed a machine's
memory. As columns they fit, and the analysis computes on whole columns (`app/lab/analysis/columns.py`). A row object is
created when it is accessed. Columns are arrays of the standard library, so that reading a store needs no dependency.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import islice
from math import isnan, nan
from operator import attrgetter, eq
from typing import Any, overload

from app.core.delivery import Delivery, Lifecycle, Outcome, SampleState

NAMES = tuple(each.name for each in fields(Delivery))
"""Names of the columns, in the order of a row."""

NO_INTEGER = -(2**63)
"""Represents `None` in a column of integers; no clock and no counter reaches this value."""

STATES, OUTCOMES, LIFECYCLES = tuple(SampleState), tuple(Outcome), tuple(Lifecycle)
"""Values of the three coded columns; a code is an index into the tuple."""

_WORDS: Mapping[str, Sequence[StrEnum]] = {"state": STATES, "outcome": OUTCOMES, "lifecycle": LIFECYCLES}
_CODES = {name: {word.value: code for code, word in enumerate(words)} for name, words in _WORDS.items()}

_FLAGS = ("warmup", "visible")
_OPTIONAL_INTEGERS = ("offset", "sent_us")
_FLOATS = ("received_client_us", "clock_offset_us", "clock_bound_us", "kernel_received_us")

_ROWS_AT_ONCE = 500
"""Rows that are converted to columns together; few enough for the processor's cache (ten thousand take a third longer)."""


@dataclass(frozen=True, slots=True, eq=False)
class DeliveryColumns(Sequence[Delivery]):
    """Deliveries in their order, with one array for each field of `Delivery`. Immutable once filled."""

    client: array[int]
    seq: array[int]
    warmup: array[int]
    offset: array[int]
    """`NO_INTEGER` represents `None`, also in `sent_us`."""
    due_us: array[int]
    sent_us: array[int]
    received_client_us: array[float]
    """NaN represents `None`, also in the three columns below."""
    clock_offset_us: array[float]
    clock_bound_us: array[float]
    kernel_received_us: array[float]
    state: array[int]
    """Index into `STATES`; `outcome` and `lifecycle` index their tuples likewise."""
    outcome: array[int]
    visible: array[int]
    lifecycle: array[int]

    @classmethod
    def of(cls, deliveries: Iterable[Delivery]) -> DeliveryColumns:
        """Convert deliveries to columns; columns are returned unchanged."""
        if isinstance(deliveries, DeliveryColumns):
            return deliveries
        return cls.of_rows(map(attrgetter(*NAMES), deliveries))

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Any, ...]]) -> DeliveryColumns:
        """Build columns from rows of plain values in the order of `NAMES`, as a database returns them.

        Raises `KeyError` for an unknown state, outcome or lifecycle, and `TypeError` for a value that is no number.
        """
        columns: dict[str, array[Any]] = {name: array(_type_code(name)) for name in NAMES}
        iterator = iter(rows)
        while part := list(islice(iterator, _ROWS_AT_ONCE)):
            for name, values in zip(NAMES, zip(*part, strict=True), strict=True):
                columns[name].extend(_encoded(name, values))
        return cls(**columns)

    def __len__(self) -> int:
        return len(self.client)

    def __iter__(self) -> Iterator[Delivery]:
        return map(_delivery, *self._arrays())

    @overload
    def __getitem__(self, place: int) -> Delivery: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Delivery, ...]: ...
    def __getitem__(self, place: int | slice) -> Delivery | tuple[Delivery, ...]:
        if isinstance(place, slice):
            return self.at(range(*place.indices(len(self))))
        return _delivery(*(values[place] for values in self._arrays()))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of plain values in the order of `NAMES`, the input of `of_rows`."""
        return zip(*(_decoded(name, getattr(self, name)) for name in NAMES), strict=True)

    def at(self, places: Iterable[int]) -> tuple[Delivery, ...]:
        """Return the rows at these indices."""
        chosen = list(places)
        columns = ([values[place] for place in chosen] for values in self._arrays())
        return tuple(map(_delivery, *columns))

    def _arrays(self) -> list[array[Any]]:
        return [getattr(self, name) for name in NAMES]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeliveryColumns | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def _type_code(name: str) -> str:
    if name in _FLOATS:
        return "d"
    return "b" if name in _FLAGS or name in _CODES else "q"


def _encoded(name: str, values: Sequence[Any]) -> Iterable[Any]:
    """Encode values as the column stores them."""
    if name in _CODES:
        return map(_CODES[name].__getitem__, values)
    if name in _FLAGS:
        return map(bool, values)
    if None not in values:
        return values
    absent = nan if name in _FLOATS else NO_INTEGER if name in _OPTIONAL_INTEGERS else None
    return [absent if value is None else value for value in values]


def _decoded(name: str, values: array[Any]) -> Iterable[Any]:
    """Invert `_encoded`."""
    if name in _WORDS:
        return map([word.value for word in _WORDS[name]].__getitem__, values)
    if name in _FLOATS:
        return (None if isnan(value) else value for value in values)
    if name in _OPTIONAL_INTEGERS:
        return (None if value == NO_INTEGER else value for value in values)
    return values


def _delivery(
    client: int,
    seq: int,
    warmup: int,
    offset: int,
    due_us: int,
    sent_us: int,
    received_client_us: float,
    clock_offset_us: float,
    clock_bound_us: float,
    kernel_received_us: float,
    state: int,
    outcome: int,
    visible: int,
    lifecycle: int,
) -> Delivery:
    return Delivery(
        client,
        seq,
        bool(warmup),
        None if offset == NO_INTEGER else offset,
        due_us,
        None if sent_us == NO_INTEGER else sent_us,
        None if isnan(received_client_us) else received_client_us,
        None if isnan(clock_offset_us) else clock_offset_us,
        None if isnan(clock_bound_us) else clock_bound_us,
        None if isnan(kernel_received_us) else kernel_received_us,
        STATES[state],
        OUTCOMES[outcome],
        bool(visible),
        LIFECYCLES[lifecycle],
    )
