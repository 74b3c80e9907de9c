"""A report's drawings as single files at the width of a journal's column: SVG, and with Typst also PNG and PDF.

`figures.md` in the same folder has each drawing's title, caption and run.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import Malformed, StoreError
from app.core.messages import Say
from app.i18n import LANGUAGES, speaker
from app.lab.report.atomic_files import write_atomically, write_bytes
from app.lab.report.document import Document, Drawing, Drawn, figures_of
from app.lab.report.renderers.standalone import standalone
from app.lab.report.renderers.typeset import is_installed, typeset

_TEMPLATE = Path(__file__).with_name("drawing.typ")

WIDTH_MM = 85.0
"""Width of a column of a journal page, at which text is 8.5 points high."""

WIDTH_MM_MIN = 40.0
WIDTH_MM_MAX = 400.0

PNG_PPI = 600.0
"""Resolution that journals require for line drawings."""

_PNG_HEADER_BYTES = 8 + 4 + 4 + 13 + 4
"""Length of the signature and the chunk IHDR (length, name, thirteen bytes, checksum)."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(mm|cm|in)")
_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4}


def width_mm(text: str) -> float:
    """Parse a width such as `85mm`, `8.5cm` or `3.35in` into millimetres. Raises `Malformed`."""
    found = _SIZE.fullmatch(text.strip())
    wide = float(found[1]) * _MM[found[2]] if found else 0.0
    if not WIDTH_MM_MIN <= wide <= WIDTH_MM_MAX:
        raise Malformed(
            f'"{text}" is no width of a figure: give millimetres, centimetres or inches as in 85mm, 8.5cm or 3.35in, '
            f"from {WIDTH_MM_MIN:g} to {WIDTH_MM_MAX:g} mm."
        )
    return wide


def write_figures(
    document: Document, folder: Path, *, wide_mm: float = WIDTH_MM, language: str = LANGUAGES[0]
) -> dict[str, Path]:
    """Write every drawing and `figures.md`; return the path of each drawing's SVG by its name. Raises `StoreError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}.") from error
    say, written = speaker(language), {}
    for drawn in figures_of(document):
        for drawing in drawn.figure.drawings:
            written[drawing.picture.name] = _write(drawn, drawing, folder, wide_mm, say)
    text = "\n".join(_captions(document, say)) + "\n"
    write_atomically(folder / "figures.md", lambda file: file.write(text))
    return written


def _write(drawn: Drawn, drawing: Drawing, folder: Path, wide_mm: float, say: Say) -> Path:
    """Write a drawing in every form that this machine supports; return the path of its SVG."""
    path = folder / f"{drawing.picture.name}.svg"
    svg = standalone(drawing.picture, say, width_mm=wide_mm, with_face=True)
    write_atomically(path, lambda file: file.write(svg))
    if is_installed():
        inputs = {
            "svg": standalone(drawing.picture, say),
            "width_mm": f"{wide_mm:g}",
            "title": f"{say(drawn.figure.title)}: {say(drawing.heading)}",
        }
        png = typeset(_TEMPLATE, inputs, form="png", ppi=PNG_PPI)
        write_bytes(path.with_suffix(".png"), with_resolution(png, PNG_PPI))
        write_bytes(path.with_suffix(".pdf"), typeset(_TEMPLATE, inputs))
    return path


def with_resolution(png: bytes, ppi: float) -> bytes:
    """Return the PNG with its resolution in a `pHYs` chunk right after the header (PNG, third edition, 11.3.4.3)."""
    per_metre = round(ppi / 0.0254)
    body = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:_PNG_HEADER_BYTES] + chunk + png[_PNG_HEADER_BYTES:]


def _captions(document: Document, say: Say) -> Iterator[str]:
    """Yield the lines of `figures.md`: names, headings and captions of all drawings."""
    yield f"# {say(document.title)}"
    for drawn in figures_of(document):
        yield f"\n## {say(drawn.figure.title)}\n"
        for drawing in drawn.figure.drawings:
            yield f"- `{drawing.picture.name}`: {say(drawing.heading)}"
        yield f"\n{say(drawn.figure.caption)} {say(drawn.settings)}"
