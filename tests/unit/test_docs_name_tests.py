"""A page that names a test as its witness names one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NAMED = re.compile(r"`([a-z_]+/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")

PAGES = ("docs/faults.md", "docs/threat-model.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_witness_of_a_page_exists(page: str) -> None:
    named = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))

    assert len(named) > 10
    missing = [
        f"{file}::{test}" for file, test in named if f"\ndef {test}(" not in _source(ROOT / "tests" / file)
    ]
    assert missing == []


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
