"""Typst, which sets the PDF and turns drawings into PNG and PDF: one wheel, no system library, no network.

The same input gives the same bytes: no date is written, no face of the machine is used, and what is set comes in as data,
never as markup.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from app.core.errors import Unfit
from app.report.drawings import FONTS

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
    template: Path, inputs: Mapping[str, str], *, form: str = "pdf", ppi: float | None = None
) -> bytes:
    """The template with its inputs (`sys.inputs`) as `pdf` or `png`; of several pages of a PNG the first."""
    import typst

    found = typst.compile(
        template.read_bytes(),
        root=str(template.parent),
        font_paths=[str(FONTS)],
        ignore_system_fonts=True,
        sys_inputs=dict(inputs),
        format=form,
        ppi=ppi,
    )
    pages = found if isinstance(found, list) else [found]
    return bytes(pages[0])
