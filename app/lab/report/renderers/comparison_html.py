"""The comparison of runs with the first one as a self-contained HTML page in the reader's language.

Settings come first, because every other change between runs is part of the differences. Where runs are not comparable, the
page says so and why; the figures are still there, folded under a heading that says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.i18n import Words
from app.lab.analysis import words
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import SettingDifference, Weight, objections, setting_differences
from app.lab.analysis.compare_runs import Change, RunShift, compare_runs, regressions
from app.lab.report.statements import change_word, subject
from app.paths import TEMPLATES

PART = "compare"
"""Name of the catalogue of texts."""

VALUE_CHARS_MAX = 60

_STYLES = Path(__file__).with_name("report.css")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The figures of one run compared with the first."""

    run: str
    rows: tuple[tuple[str, ...], ...]


def compared_page(analyses: Sequence[Analysis], language: str) -> str:
    """Return the page as text. `analyses` are of two or more runs, none of them a live run."""
    page = _Page(Words(language, PART))
    runs = [each.run for each in analyses]
    differences = setting_differences(runs)
    found = compare_runs(analyses)
    worse = regressions(found)
    return (
        _environment()
        .get_template("compared.html")
        .render(
            css=Markup(_STYLES.read_text(encoding="utf-8")),
            language=language,
            t=page.say,
            runs=[(run.id, run.started, run.simulated, run.complete) for run in runs],
            objections=page.objections(differences, objections(runs)),
            cautions=[each.name for each in differences if each.weight is Weight.WARNED],
            settings=[page.setting(each) for each in differences],
            tables=[
                _Rows(run.id, tuple(page.row(each) for each in found if each.run == run.id))
                for run in runs[1:]
            ],
            regressions=[page.regression(each) for each in worse],
            verdict=page.verdict(found),
        )
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """Rows and sentences of the page in one language."""

    words: Words

    def say(self, key: str, **places: object) -> str:
        """Return a text of the catalogue."""
        return self.words.say(key, **places)

    def number(self, value: float | None) -> str:
        """Return a number as text, with a decimal comma in Indonesian."""
        text = words.number(value)
        return text.replace(".", ",") if self.words.language == "id" else text

    def interval(self, low: float | None, high: float | None) -> str:
        """Return both ends in brackets, separated by a semicolon where the decimal sign is a comma."""
        if low is None or high is None:
            return words.NOTHING
        between = "; " if self.words.language == "id" else ", "
        return f"[{self.number(low)}{between}{self.number(high)}]"

    def objections(self, differences: Sequence[SettingDifference], all_of_them: Sequence[str]) -> list[str]:
        """Return the reasons why the runs are not comparable."""
        refused = [each for each in differences if each.weight is Weight.REFUSED]
        named = [
            self.say(
                "objection",
                setting=each.name,
                values=self.say("against").join(map(self.value, each.values)),
                reason=self.say(f"reason.{each.name}"),
            )
            for each in refused
        ]
        # `comparable.objections` lists settings first; the others say that the runs have nothing in common.
        return named + [self.say("nothing_common")] * (len(all_of_them) > len(refused))

    def value(self, value: object) -> str:
        """Return a setting's value as text of limited length; a dash when it was not recorded."""
        if isinstance(value, bool):
            return self.say("yes" if value else "no")
        text = words.NOTHING if value is None else str(value)
        return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 1] + "…"

    def setting(self, each: SettingDifference) -> tuple[str, ...]:
        """Return a row of the table of settings: name, a value for each run, and the consequence of the difference."""
        return (each.name, *map(self.value, each.values), self.say(f"weight.{each.weight.value}"))

    def row(self, row: RunShift) -> tuple[str, ...]:
        """Return a row of the table of figures."""
        equivalent = "-" if row.margin is None else self.say("yes" if row.equivalent else "no")
        return (
            self.say(f"metric.{row.metric}"),
            subject(row),
            str(row.clients),
            self.number(row.base_median),
            self.number(row.median),
            self.number(row.estimate),
            self.interval(row.interval.low, row.interval.high),
            f"{row.base_trials} / {row.trials}",
            self.say(f"change.{change_word(row)}"),
            equivalent,
        )

    def regression(self, row: RunShift) -> str:
        """Return a sentence on a figure that got worse."""
        return self.say(
            "regression",
            metric=self.say(f"metric.{row.metric}"),
            subject=subject(row),
            clients=row.clients,
            estimate=self.number(row.estimate),
            interval=self.interval(row.interval.low, row.interval.high),
            run=row.run,
        )

    def verdict(self, rows: Sequence[RunShift]) -> str:
        """Return the sentence for a comparison without regressions."""
        own = [each for each in rows if each.less is None]
        undecided = [each for each in own if each.change is Change.UNDECIDED and not each.equivalent]
        return self.say("no_regression", count=len(own), undecided=len(undecided))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
