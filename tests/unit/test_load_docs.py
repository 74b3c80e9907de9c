"""The page about load says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from app.tools.load.invalid_rules import GENERATOR_CODES
from app.tools.load.levels import FIGURES

TEXT = (Path(__file__).resolve().parents[2] / "docs/load.md").read_text(encoding="utf-8")


def names_in(section: str) -> set[str]:
    """What stands between backticks in the first column of a section's table."""
    part = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([a-z0-9_]+)`", cell)}


def test_every_figure_of_a_gate_is_documented_and_no_other() -> None:
    assert names_in("Gates") == set(FIGURES)


def test_every_code_that_voids_is_documented_and_no_other() -> None:
    assert names_in("When the generator is not to be believed") == GENERATOR_CODES
