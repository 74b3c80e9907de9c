"""`report.html`: the whole report in one self-contained file without scripts.

Jinja escapes text, and `panel.py` escapes the text of drawings.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.core.messages import Message
from app.i18n import LANGUAGES, speaker
from app.lab.analysis.analyse import Analysis
from app.lab.report.contents.sections import document_of
from app.lab.report.document import Document, Opening
from app.lab.report.renderers.delay_bars import arms_of, key_svg, row_svg, scale, ticks_svg
from app.paths import TEMPLATES

_STYLES = Path(__file__).with_name("report.css")

_WORDS = {name: Message(f"report.{name}") for name in ("numbers", "more", "unprinted")}
"""Words of the page itself."""

_TYPED = re.compile(r"`([^`]+)`")


def report_html(analysis: Analysis, language: str = LANGUAGES[0]) -> str:
    """Return the report of a run as a page."""
    return html_of(document_of(analysis), language)


def html_of(document: Document, language: str = LANGUAGES[0]) -> str:
    """Return a document as a page."""
    template = _environment(language).get_template("report.html")
    css = Markup(_STYLES.read_text(encoding="utf-8"))
    first_screen = document.opening if isinstance(document.opening, Opening) else None
    return template.render(
        report=document, first_screen=first_screen, words=_WORDS, language=language, css=css
    )


@cache
def _environment(language: str) -> Environment:
    say = speaker(language)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["say"] = say
    environment.filters["drawing"] = lambda picture: Markup(picture.svg(say))
    environment.filters["typed"] = lambda text: _typed(say(text))
    environment.filters["scale"] = scale
    environment.filters["bars"] = lambda row, axis: Markup(row_svg(row, axis, say))
    environment.filters["ticks"] = lambda axis: Markup(ticks_svg(axis, say))
    environment.filters["arms"] = arms_of
    environment.filters["key"] = lambda series: Markup(key_svg(series))
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment


def _typed(text: str) -> Markup:
    """Return the text escaped, with `<code>` in place of backticks."""
    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(text))))
