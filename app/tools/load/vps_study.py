"""The VPS study's Tables 3 and 4 next to a run's own figures, and the cost of the hop over Redis with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.core.messages import Message
from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.studies.published import study_of
from app.lab.studies.redis import COLUMNS, STUDY
from app.lab.studies.tables import StudyRow, StudyTable
from app.tools.load.levels import Level
from app.tools.load.probe_line import ProbeLine
from app.tools.load.trial_line import TrialLine
from app.tools.load.vps_hops import Hop, hops_of
from app.tools.load.vps_rows import CACHE, CACHE_NOTE, STRESS, STRESS_NOTE, FigureCell, Row

Place = tuple[str, int, int]
"""Arm, users and block."""


def redis_cpu_us(levels: Sequence[Level], probes: Sequence[ProbeLine]) -> Mapping[Place, float]:
    """Return microseconds per notification that reached a user, for each valid trial with a known CPU time."""
    used_s = {(each.arm, each.users, each.block): each.probed.redis_cpu_s for each in probes}
    found: dict[Place, float] = {}
    for line in (line for level in levels for line in level.valid_trials):
        place = line.arm, line.users, line.block
        cpu_s, arrived = used_s.get(place), _arrived(line)
        if cpu_s is not None and arrived > 0:
            found[place] = 1e6 * cpu_s / arrived
    return found


def _arrived(line: TrialLine) -> int:
    """Return the number of arrivals including warm-up, because the CPU time of the window includes it too."""
    never_connected = line.notifications * (line.users - line.connected)
    return line.published * line.connected - max(0, line.lost - never_connected)


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that a run of the preset reports in addition to other load runs."""

    hops: tuple[Hop, ...]
    tables: tuple[StudyTable, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object, with texts in English."""
        say = speaker(LANGUAGES[0])
        hops = [{**asdict(each), "figure": say(each.figure)} for each in self.hops]
        tables = [{**asdict(each), "title": say(each.title), "note": say(each.note)} for each in self.tables]
        for table, values in zip(self.tables, tables, strict=True):
            values["rows"] = [
                {**asdict(row), "figure": say(row.figure), "derived": sorted(row.derived)}
                for row in table.rows
            ]
        return {"hops": hops, "tables": tables}


def study_with_run(analysis: Analysis, levels: Sequence[Level], probes: Sequence[ProbeLine]) -> Study:
    """Return the study's tables for each number of users, the largest first."""
    redis_us = redis_cpu_us(levels, probes)
    cells: dict[tuple[int, str], list[FigureCell]] = {}
    for level in levels:
        cells.setdefault((level.users, level.transport), []).append(
            _cell(level, probes, redis_us, analysis.run.plan.rate_hz)
        )
    tables = []
    for users, transport in sorted(cells, reverse=True):
        columns = cells[users, transport]
        stress, cache = (Message(key, {"users": users}) for key in ("load.table3", "load.table4"))
        tables.append(_table(stress, "stress", STRESS, columns, STRESS_NOTE))
        tables.append(_table(cache, "http_cache", CACHE, columns, CACHE_NOTE))
    return Study(hops_of(analysis, levels, redis_us), tuple(tables))


def _cell(
    level: Level, probes: Sequence[ProbeLine], redis_us: Mapping[Place, float], rate_hz: float
) -> FigureCell:
    own = [each for each in probes if (each.arm, each.users) == (level.arm, level.users)]
    believed = {each.trial for each in level.valid_trials}
    return FigureCell(
        level,
        tuple(each.probed for each in own),
        tuple(each.probed for each in own if each.trial in believed),
        rate_hz,
        tuple(us for (arm, users, _), us in redis_us.items() if (arm, users) == (level.arm, level.users)),
    )


def _table(
    title: Message,
    part: str,
    rows: Sequence[Row],
    columns: Sequence[FigureCell],
    note: Message,
) -> StudyTable:
    published = study_of(STUDY)[part]
    return StudyTable(
        title,
        COLUMNS,
        tuple(each.level.arm for each in columns),
        tuple(
            StudyRow(
                Message(name),
                unit,
                tuple(None if key is None else published[key][column] for column in COLUMNS),
                tuple(of(cell) for cell in columns),
            )
            for key, name, unit, of in rows
        ),
        note,
    )
