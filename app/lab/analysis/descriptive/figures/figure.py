"""The type of an arm's figures, and the characteristics of ISO/IEC 25023 that group them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.lab.analysis.descriptive.arm_rows import DescriptiveRow
from app.lab.analysis.summary import SummaryRow


class Characteristic(StrEnum):
    """Groups of figures; the first four are named as in ISO/IEC 25023:2016."""

    TIME_BEHAVIOUR = "time behaviour"
    RESOURCE_UTILIZATION = "resource utilization"
    CAPACITY = "capacity"
    RELIABILITY = "reliability"
    INSTRUMENT = "the instrument itself"
    """Errors of the measuring instrument, which are no characteristic of the system measured."""


Value = Callable[[SummaryRow, DescriptiveRow], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an arm at one count of clients."""

    name: str
    """The figure's name in JSON, which ends in its unit."""
    characteristic: Characteristic
    title: str
    unit: str
    formula: str
    source: str
    value: Value
    cell: Callable[[SummaryRow, DescriptiveRow], str] | None = None
    """The text for a table, where a number alone does not suffice."""
