"""A QR code in a terminal: the same modules, two to a character, and only where it would come out."""

from __future__ import annotations

import io

import segno

from app.cli.announcement import DARK_ON_LIGHT, HALVES, QUIET_MODULES, can_show, coloured, qr_lines

URL = "http://192.168.178.123:8080/"


class Terminal(io.TextIOWrapper):
    """A terminal of an encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True


def test_the_lines_hold_every_module_of_the_code_and_light_around_it() -> None:
    modules = {character: pair for pair, character in HALVES.items()}
    lines = qr_lines(URL)

    rows = [[modules[each][half] for each in line] for line in lines for half in (0, 1)]

    expected = [
        [bool(module) for module in row]
        for row in segno.make(URL, error="m", micro=False).matrix_iter(border=QUIET_MODULES)
    ]
    assert rows[: len(expected)] == expected
    assert not any(any(row) for row in rows[len(expected) :])


def test_the_code_of_an_address_on_the_lan_fits_a_narrow_terminal() -> None:
    assert len(qr_lines(URL)[0]) <= 40
    assert len(qr_lines(URL)) <= 20


def test_it_is_shown_on_terminals_that_can_and_nowhere_else() -> None:
    lines = qr_lines(URL)

    assert can_show(Terminal("utf-8"), lines, {"TERM": "xterm"})
    assert not can_show(Terminal("ascii"), lines, {"TERM": "xterm"})
    assert not can_show(Terminal("utf-8"), lines, {"TERM": "dumb"})
    assert not can_show(Terminal("utf-8"), lines, {})
    assert not can_show(io.StringIO(), lines, {"TERM": "xterm"})


def test_it_is_dark_on_light_whatever_the_terminal_is() -> None:
    assert all(line.startswith(DARK_ON_LIGHT) and line.endswith("\x1b[0m") for line in coloured(["█"]))
