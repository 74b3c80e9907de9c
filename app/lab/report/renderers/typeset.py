"""Typst, which sets the PDF and turns drawings into PNG and PDF: one wheel, no system library, no network.

The same input gives the same bytes: no date is written, no face of the machine is used, and what is set comes in as data,
never as markup.
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
    """Whether there is Typst on this machine."""
    return importlib.util.find_spec("typst") is not None


def need(what: str) -> None:
    """Raise `Unfit` with how to get Typst, where it is missing."""
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
    """The template with its inputs (`sys.inputs`) as `pdf` or `png`; a PNG has one page."""
    import typst

    return bytes(
        typst.compile(str(template), font_paths=_faces(), sys_inputs=dict(inputs), format=form, ppi=ppi)
    )


@cache
def _faces() -> typst.Fonts:
    """Ours, and those that Typst has in itself; none of the machine, so that every machine sets the same."""
    import typst

    return typst.Fonts(include_system_fonts=False, font_paths=[str(FONTS)])
