"""Terminal output of a load run: headline, gates, validity and levels; then, unless brief, the study and the generator."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.core import messages
from app.core.gate_verdict import GateVerdict
from app.core.messages import Message, Say
from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.published import beside_table
from app.tools.load import words
from app.tools.load.gates import GateOutcome
from app.tools.load.headline import load_headline
from app.tools.load.result import Kind, LoadResult
from app.tools.load.vps_study import Study

TICK, CROSS, DOUBT, BULLET = "✓", "✗", "?", "•"
MARKS = {GateVerdict.HELD: TICK, GateVerdict.MISSED: CROSS, GateVerdict.NOT_JUDGED: DOUBT}

HEADING_CHARS = 11
"""Headings are wrapped, because they are longer than the figures below them."""

TITLES = {
    Kind.RAMP: Message("load.ramp_until"),
    Kind.SPIKE: Message("load.spike_once"),
    Kind.STEPS: Message("load.steps"),
}
"""Titles of the table of levels by kind of run; those of runs in blocks have another."""


def print_load(
    analysis: Analysis,
    result: LoadResult,
    console: Console,
    language: str = LANGUAGES[0],
    *,
    is_brief: bool = False,
) -> None:
    """Print the headline and the parts that only load runs have. `is_brief`: without what only explains them."""
    printer = _Printer(console, speaker(language), is_brief=is_brief)
    printer.headline(load_headline(analysis, result).whole)
    printer.load(result)


@dataclass(frozen=True, slots=True)
class _Printer:
    console: Console
    say: Say
    is_brief: bool

    def headline(self, sentence: Message) -> None:
        self._print(sentence, style="bold")
        self.console.print()

    def load(self, result: LoadResult) -> None:
        for arm, sentence in words.capacity_sentences(result).items():
            self._print(sentence, style="bold", before=f"{_capacity_mark(result, arm)} ")
        for outcome in result.gates:
            self._print(gate_line(outcome, result), style="bold")
        for sentence in (*words.ending_sentences(result), words.validity_sentence(result)):
            self._print(sentence, style="bold")
        for trouble in result.troubles:
            self._print(trouble, before=f"  {CROSS} ")
        for advice in result.advice if result.troubles else ():
            self._print(advice, before="    ")
        for remark in result.remarks:
            self._print(remark)
        if result.agreement:
            cells = map(words.agreement_cells, result.agreement)
            self._table(Message("load.agreement"), words.AGREEMENT_HEADINGS, cells)
            self._print(words.AGREEMENT_NOTE)
        title, rows = (
            TITLES.get(result.kind, Message("load.levels_blocks")),
            map(words.level_cells, result.levels),
        )
        if self.is_brief:
            brief = [[row[column] for column in words.BRIEF_COLUMNS] for row in rows]
            self._table(title, [words.LEVEL_HEADINGS[column] for column in words.BRIEF_COLUMNS], brief)
            return
        if result.study is not None:
            self._study(result.study)
        self._table(title, words.LEVEL_HEADINGS, rows)
        self._print(words.LEVEL_NOTE)
        self._table(
            Message("load.generator"), words.GENERATOR_HEADINGS, map(words.generator_cells, result.levels)
        )
        self._print(words.GENERATOR_NOTE)

    def _study(self, study: Study) -> None:
        self._table(words.HOPS_TITLE, words.HOP_HEADINGS, map(words.hop_cells, study.hops), texts=(0, 1, 3))
        self._print(words.HOP_NOTE)
        for table in study.tables:
            with_run = beside_table(table, short=True)
            self._table(table.title, with_run.headings, with_run.rows, texts=(0, 1))
            self._print(table.note)

    def _table(
        self,
        title: messages.Text,
        headings: Sequence[messages.Text],
        rows: Iterable[Sequence[messages.Text]],
        *,
        texts: Sequence[int] = (0,),
    ) -> None:
        self.console.print()
        self._print(title, style="bold")
        table = Table(box=None, pad_edge=False, header_style="")
        for place, heading in enumerate(headings):
            lines = textwrap.fill(self.say(heading), HEADING_CHARS)
            table.add_column(Text(lines), justify="left" if place in texts else "right", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(self.say(cell)) for cell in row))
        self.console.print(table)

    def _print(self, text: messages.Text, *, style: str = "", before: str = "") -> None:
        whole = not self.console.is_terminal
        self.console.print(Text(before + self.say(text), style=style), soft_wrap=whole)


def gate_line(outcome: GateOutcome, result: LoadResult) -> Message:
    """Return a gate with tick or cross; `?` if it was not judged, a bullet in a ramp, which breaks gates."""
    mark = MARKS[outcome.verdict]
    if result.kind is Kind.RAMP and outcome.verdict is not GateVerdict.NOT_JUDGED:
        mark = BULLET
    return Message("load.marked", {"mark": mark, "text": outcome.reason})


def _capacity_mark(result: LoadResult, arm: str) -> str:
    if not result.is_valid:
        return DOUBT
    return CROSS if result.capacity[arm].users is None else TICK
