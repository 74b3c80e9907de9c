"""The drawing and the tables of the architecture show the code as it is."""

from __future__ import annotations

from tests.support.imports import children
from tests.tools import architecture


def test_drawing_and_tables_are_those_of_the_code_of_today() -> None:
    stale = [
        path.name for path, text in architecture.wanted().items() if path.read_text(encoding="utf-8") != text
    ]

    assert stale == [], "a part is new, gone or described anew: run `python -m tests.tools.architecture`"


def test_every_part_of_a_folder_is_shown() -> None:
    shown = {name.rstrip("/") for name in architecture.parts("server")}

    assert shown == set(children("app.server"))
