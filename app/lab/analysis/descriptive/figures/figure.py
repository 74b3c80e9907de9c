"""The type of an arm's figures, and the characteristics of ISO/IEC 25023 that group them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.core.messages import Message, Text
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow
from app.lab.analysis.summary import SummaryRow


class Characteristic(StrEnum):
    """Groups of an arm's figures. The first four are characteristics of ISO/IEC 25023:2016.

    The values are part of keys in the catalogue of translated texts.
    """

    TIME_BEHAVIOUR = "time"
    RESOURCE_UTILIZATION = "use"
    CAPACITY = "capacity"
    RELIABILITY = "reliability"
    INSTRUMENT = "instrument"
    """Errors of the measurement, which are no characteristic of the measured system."""


Value = Callable[[SummaryRow, DescriptiveRow], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """The definition of one figure of an arm at one count of clients; `value` computes it from the arm's rows."""

    name: str
    """The figure's name in JSON and in keys of the catalogue of translated texts."""
    characteristic: Characteristic
    unit: str
    source: Text
    value: Value
    cell: Callable[[SummaryRow, DescriptiveRow], Text] | None = None
    """Computes the text for a cell of a table; `None` where the number from `value` suffices."""

    @property
    def title(self) -> Message:
        """The figure's name for readers, to be translated."""
        return Message(f"title.{self.name}")

    @property
    def formula(self) -> Message:
        """A text, to be translated, on how the figure is computed."""
        return Message(f"formula.{self.name}")


def measurement(section: int) -> Message:
    """Return the source of a figure that is defined in a section of docs/measurement.md: a text to be translated."""
    return Message("source.measurement", {"n": section})


def edge_equation(number: int) -> Message:
    """Return the source of a figure that an equation of the edge-device study defines: a text to be translated."""
    return Message("source.edge_device.equation", {"n": number})


def edge_table(name: str) -> Message:
    """Return the source of a figure in a table of the edge-device study. `name`: the table's number, such as "II"."""
    return Message("source.edge_device.table", {"name": name})
