"""The list of licences names whatever we ask for by name and whatever we ship, and each of them says its licence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import licences

PAGE = Path(__file__).resolve().parents[2] / "docs" / "licences.md"


def rows() -> dict[str, str]:
    """Licences by name."""
    lines = (
        line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    )
    return {licences.normal(cells[0].removeprefix("| ")): cells[1] for cells in lines}


@pytest.mark.parametrize("name", [name for name in licences.FILES if (licences.ROOT / name).exists()])
def test_whatever_a_requirement_file_names_is_listed_with_its_licence(name: str) -> None:
    listed = rows()

    missing = [each for each in licences.named_in(licences.ROOT / name) if each not in listed]
    silent = [each for each in licences.named_in(licences.ROOT / name) if listed.get(each) == "not said"]

    assert missing == [], "run `python -m tests.tools.licences --out docs/licences.md`"
    assert silent == []


def test_whatever_is_vendored_is_listed_and_has_its_licence_beside_it() -> None:
    listed = rows()

    for work in licences.vendored():
        assert listed[licences.normal(work.name)] == work.licence != ""
