"""The result of a run on a terminal: its first screen, and what `contents.terminal` shows below it."""

from __future__ import annotations

from rich.console import Console

from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.first_screen import first_screen_blocks
from app.lab.report.contents.terminal import result_blocks
from app.lab.report.renderers.console.document import print_blocks
from app.lab.report.renderers.console.page import Page


def print_first_screen(
    analysis: Analysis, console: Console, *, language: str = LANGUAGES[0], plan_file: str | None = None
) -> None:
    """Print the answer, one table, and the next command. `plan_file`: path of the run's plan, if it is known."""
    page = Page(console, speaker(language))
    page.say("")
    print_blocks(first_screen_blocks(analysis, plan_file=plan_file), page)


def print_details(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """Print every figure, difference, verdict and warning."""
    page = Page(console, speaker(language))
    page.say("")
    print_blocks(result_blocks(analysis), page)
