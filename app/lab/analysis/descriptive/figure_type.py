"""What a figure of an arm is, and the characteristics that figures are grouped by: ISO/IEC 25023's names, and no codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.lab.analysis.descriptive.arm_rows import FurtherRow
from app.lab.analysis.summary import SummaryRow


class Characteristic(StrEnum):
    """The first four as in ISO/IEC 25023:2016."""

    TIME_BEHAVIOUR = "time behaviour"
    RESOURCE_UTILIZATION = "resource utilization"
    CAPACITY = "capacity"
    RELIABILITY = "reliability"
    INSTRUMENT = "the instrument itself"
    """No characteristic of what is measured: how far its figures may be off."""


Value = Callable[[SummaryRow, FurtherRow], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an arm at one count of clients."""

    name: str
    """As in JSON; ends in its unit."""
    characteristic: Characteristic
    title: str
    unit: str
    formula: str
    source: str
    value: Value
    cell: Callable[[SummaryRow, FurtherRow], str] | None = None
    """How a table says it where a number alone would not do."""
