"""Pictures of every screen: `python -m tests.tools.screens [--out DIR]`, in both languages, light and dark.

It plays a small classroom in real Chromium, on a real server with a real runner: six phones (contexts of one browser on
this machine, so the figures in the pictures are loopback's), the operator's page and the big screen, each in English
and in Indonesian. At every point of interest, each page is photographed on several screens: phones from 320 px to a
Pixel, the desk, the projector. `index.html` next to the pictures shows all of them.

The reports are of synthetic runs, one for each kind of result.

`--docs` makes the pictures of README and docs instead, into docs/pictures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.browser.cdp import running_browser
from tests.browser.gallery import Gallery, ReadmePictures, contact_sheet
from tests.browser.photographer import Photographer
from tests.browser.reports import show_reports
from tests.components import require_chromium
from tests.support.server import ROOT, running_server

DOCS = ROOT / "docs" / "pictures"


NAME = "siar.local"
"""Host name of the pages: a name of the LAN, so that they look as on a phone, where plain HTTP is not secure."""


# A picture of a whole page has no scroll bar, so the visible part must not have one either.
FLAGS = (f"--host-resolver-rules=MAP {NAME} 127.0.0.1", "--hide-scrollbars")


def main(arguments: Sequence[str]) -> int:
    """Play the classroom and take the pictures. Returns the exit code, 3 without Chromium."""
    parsed = _parser().parse_args(arguments)
    try:
        chromium = require_chromium()
    except pytest.skip.Exception as missing:
        print(missing, file=sys.stderr)
        return 3
    folder: Path = parsed.out or (DOCS if parsed.docs else Path("screens"))
    folder.mkdir(parents=True, exist_ok=True)
    gallery = ReadmePictures(folder) if parsed.docs else Gallery(folder)
    with (
        tempfile.TemporaryDirectory(prefix="siar-screens-") as scratch,
        running_browser(chromium, *FLAGS) as browser,
        running_server(Path(scratch), join_code="1") as server,
    ):
        Photographer(browser, server, gallery, site=f"http://{NAME}:{server.port}").play()
        if not parsed.docs:
            show_reports(browser, gallery, Path(scratch))
    if not parsed.docs:
        (folder / "index.html").write_text(contact_sheet(gallery.taken), encoding="utf-8")
    print(f"{len(gallery.taken)} pictures in {folder}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.screens", description="Photograph every screen."
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to (default: ./screens, or docs/pictures)"
    )
    parser.add_argument("--docs", action="store_true", help="the few pictures of README and docs, small")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
