"""The result of a run on a terminal: its headline, and what `contents.terminal` shows below it."""

from __future__ import annotations

from rich.console import Console

from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.headline import headline
from app.lab.report.contents.terminal import result_blocks
from app.lab.report.renderers.console.document import print_blocks
from app.lab.report.renderers.console.page import Page


def print_result(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """Print headline, summary, differences, verdicts and warnings."""
    page = Page(console, speaker(language))
    page.say("")
    page.say(headline(analysis).sentence, style="bold")
    page.say("")
    print_blocks(result_blocks(analysis), page)
