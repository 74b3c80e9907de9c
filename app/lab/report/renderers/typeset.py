"""Typesetting by Typst: PDF reports, and drawings as PNG and PDF. Typst is one wheel without system libraries or network.

The same input gives the same bytes: no date is written and no font of the machine is used. Content is passed as data, never
as markup.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from app.core.errors import Unfit
from app.lab.report.renderers.standalone import FONTS

if TYPE_CHECKING:
    import typst

REQUIREMENTS = "requirements-report.txt"


def is_installed() -> bool:
    """Tell whether Typst is installed."""
    return importlib.util.find_spec("typst") is not None


def need(what: str) -> None:
    """Raise `Unfit` where Typst is missing, with instructions to install it."""
    if not is_installed():
        raise Unfit(
            f"{what} is set by the package typst, which is missing. `./siar` installs it by itself; elsewhere: "
            f"pip install -r {REQUIREMENTS}. HTML and Markdown need nothing."
        )


def typeset(
    template: Path,
    inputs: Mapping[str, str],
    *,
    form: Literal["pdf", "png"] = "pdf",
    ppi: float | None = None,
) -> bytes:
    """Compile a template with its inputs (`sys.inputs`) to PDF, or to a PNG of one page."""
    import typst

    return bytes(
        typst.compile(str(template), font_paths=_faces(), sys_inputs=dict(inputs), format=form, ppi=ppi)
    )


@cache
def _faces() -> typst.Fonts:
    """Return our fonts and those inside Typst, without the machine's, so that every machine gives the same result."""
    import typst

    return typst.Fonts(include_system_fonts=False, font_paths=[str(FONTS)])
