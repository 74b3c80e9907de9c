"""What others build on does not change unseen."""

from __future__ import annotations

import re

from app.core.exit_codes import EXIT_CODES
from tests.support.imports import ROOT
from tests.tools import surface


def test_the_public_surface_is_the_one_that_was_written_down() -> None:
    written = surface.LIST.read_text(encoding="utf-8").splitlines()

    assert surface.lines() == written, "look at it, then `python -m tests.tools.surface` and commit"


def test_the_page_of_commands_lists_every_exit_code() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.partition("\n## Exit codes\n")[2].partition("\n## ")[0]

    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)] == list(
        EXIT_CODES.values()
    )
