"""The VPS study's experiment as blocks of `load.html`."""

from __future__ import annotations

from app.lab.report.document import Block, Folded, Kind, Listing, Numbers, Paragraph
from app.lab.report.study_tables import WHY, beside_table
from app.lab.report.tables import Table
from app.lab.studies.redis import DIFFERENCES
from app.tools.load.vps_study import Study
from app.tools.load.words import HOP_HEADINGS, HOP_NOTE, hop_cells

HOPS_TITLE = "What the way over Redis costs"


def study_blocks(study: Study | None) -> tuple[Block, ...]:
    """Return the cost of the hop, then the study's tables; nothing for a run without preset."""
    if study is None:
        return ()
    hops = Table(HOP_HEADINGS, [hop_cells(each) for each in study.hops], frozenset({0, 1, 3, 4}))
    blocks: list[Block] = [Numbers(HOPS_TITLE, hops, titled=True), Paragraph(HOP_NOTE, Kind.CAPTION)]
    for table in study.tables:
        blocks.append(Numbers(table.title, beside_table(table), titled=True))
        blocks.append(Paragraph(table.note, Kind.CAPTION))
    return (*blocks, Folded(WHY, (Listing(DIFFERENCES),)))
