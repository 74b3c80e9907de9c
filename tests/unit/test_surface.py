"""What others build on does not change unseen."""

from __future__ import annotations

from tests.tools import surface


def test_the_public_surface_is_the_one_that_was_written_down() -> None:
    written = surface.LIST.read_text(encoding="utf-8").splitlines()

    assert surface.lines() == written, "look at it, then `python -m tests.tools.surface` and commit"
