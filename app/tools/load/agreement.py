"""Agreement of Locust's users with the built-in clients: medians of the kernel delay, paired by block.

Both generators run in every block, in random order, on the same server, with the same schedule. They agree if the
pseudo-median of the differences is within 0.1 ms or a tenth of the built-in clients' median, whichever is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.core.gate_verdict import GateVerdict
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.statistics.signed_rank import pseudo_median
from app.tools.load.client_selector import BUILT_IN, LOCUST
from app.tools.load.trial_line import TrialLine

MARGIN_MS = 0.1
MARGIN_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Agreement:
    """Comparison of both generators for one transport and number of users."""

    transport: str
    users: int
    blocks: int
    """Number of blocks with a valid trial of both generators."""
    built_in_ms: float | None
    """Median over blocks of the trials' medians."""
    locust_ms: float | None
    difference_ms: float | None
    """Locust minus built-in: Hodges and Lehmann's estimate over the block differences."""
    margin_ms: float | None
    agrees: bool

    @property
    def verdict(self) -> GateVerdict:
        """Not judged without a block in which both are valid."""
        if not self.blocks:
            return GateVerdict.NOT_JUDGED
        return GateVerdict.HELD if self.agrees else GateVerdict.MISSED

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


def agreements(lines: Sequence[TrialLine]) -> tuple[Agreement, ...]:
    """Return one comparison for each transport and number of users."""
    cells = sorted({(each.transport, each.users) for each in lines}, key=lambda cell: (cell[1], cell[0]))
    return tuple(_agreement(transport, users, lines) for transport, users in cells)


def _agreement(transport: str, users: int, lines: Sequence[TrialLine]) -> Agreement:
    own = [
        each for each in lines if (each.transport, each.users) == (transport, users) and each.is_believable
    ]
    medians = {
        generator: {
            each.block: value
            for each in own
            if each.generator == generator and (value := each.delays.kernel.quantile_ms(0.5)) is not None
        }
        for generator in (BUILT_IN, LOCUST)
    }
    blocks = sorted(medians[BUILT_IN].keys() & medians[LOCUST].keys())
    built_in_ms = median([medians[BUILT_IN][block] for block in blocks])
    difference_ms = pseudo_median([medians[LOCUST][block] - medians[BUILT_IN][block] for block in blocks])
    margin_ms = None if built_in_ms is None else max(MARGIN_MS, MARGIN_SHARE * built_in_ms)
    return Agreement(
        transport,
        users,
        len(blocks),
        built_in_ms,
        median([medians[LOCUST][block] for block in blocks]),
        difference_ms,
        margin_ms,
        difference_ms is not None and margin_ms is not None and abs(difference_ms) <= margin_ms,
    )
