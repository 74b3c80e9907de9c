"""The command: writes the generated part of each page, or with `--check` only compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.support.imports import ROOT
from tests.tools import reference
from tests.tools.reference import commands, http_api, markdown, settings

DOCS = ROOT / "docs"

PARTS = {
    DOCS / "commands.md": commands.lines,
    DOCS / "settings.md": settings.lines,
    DOCS / "http-api.md": http_api.lines,
}


def wanted() -> dict[Path, str]:
    """Return what the pages should hold."""
    return {
        path: markdown.with_part(path.read_text(encoding="utf-8"), lines()) for path, lines in PARTS.items()
    }


def main() -> int:
    """Run as a command; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.reference", description=(reference.__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a page is stale")
    check = parser.parse_args().check
    stale = {path: text for path, text in wanted().items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        print(f"{path.relative_to(ROOT)} {'is stale' if check else 'was written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
