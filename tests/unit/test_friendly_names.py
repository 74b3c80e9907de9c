"""Names that strangers type are made fit to be shown, and those who type none get a friendly one."""

from __future__ import annotations

import pytest

from app.server.room.clean_name import NAME_CHARS_MAX, clean_name
from app.server.room.friendly_names import friendly_name

RLO, PDF, LRI, ZWJ = "\u202e", "\u202c", "\u2066", "\u200d"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Siti", "Siti"),
        ("  Budi \t\n Santoso  ", "Budi Santoso"),
        (f"a{RLO}txt.exe{PDF}", "atxt.exe"),
        (f"{LRI}x", "x"),
        ("\u200e\u200f\u061c\ufeffAyu", "Ayu"),
        ("a\x00b\x1b[31m\x7f", "ab[31m"),
        ("<b>Bo</b>", "<b>Bo</b>"),
        (f"👩{ZWJ}🔬", f"👩{ZWJ}🔬"),
        ("محمد", "محمد"),
        ("नमस्ते", "नमस्ते"),
        ("Z" + "\u0301" * 50 + "o", "Ź" + "\u0301" * 2 + "o"),
        ("Z" + "\u0301\u0301\u200b" * 20 + "o", "Ź" + "\u0301" * 2 + "o"),
        (f"Z\u0301{ZWJ}\u0301\u0301{ZWJ}\u0301o", f"Ź{ZWJ}\u0301\u0301{ZWJ}o"),
        ("e\u0301", "é"),
        ("", ""),
        (" \u200b\u00ad ", ""),
        (f"{ZWJ}{ZWJ}", ""),
        ("\u3164\u2800", ""),
        ("\u0301", ""),
        ("\ud800x", "x"),
        ("\ue000x", "x"),
    ],
)
def test_a_name_keeps_what_people_see_and_nothing_that_tricks_them(typed: str, kept: str) -> None:
    assert clean_name(typed) == kept


def test_a_name_is_cut_at_its_limit() -> None:
    assert clean_name("x" * 10_000) == "x" * NAME_CHARS_MAX


@pytest.mark.parametrize("language", ["en", "id"])
def test_every_number_has_two_words_of_its_own(language: str) -> None:
    names = [friendly_name(language, number=number, taken=()) for number in range(768)]

    assert len(set(names)) == 768
    assert all(len(name.split()) == 2 and len(name) <= NAME_CHARS_MAX for name in names)
    assert all(clean_name(name) == name for name in names)


def test_a_name_that_is_taken_is_passed_over() -> None:
    first = friendly_name("en", number=7, taken=())

    assert friendly_name("en", number=7, taken={first.casefold()}) != first
    assert friendly_name("en", number=7, taken={"somebody else"}) == first


@pytest.mark.parametrize(("language", "name"), [("en", "Red Gecko 769"), ("id", "Tokek Merah 769")])
def test_when_all_names_are_taken_the_first_one_gets_an_unused_number(language: str, name: str) -> None:
    taken = {friendly_name(language, number=number, taken=()).casefold() for number in range(768)}

    assert friendly_name(language, number=5, taken=taken) == name


def test_an_unknown_language_gets_english() -> None:
    assert friendly_name("fr", number=5, taken=()) == friendly_name("en", number=5, taken=())


def test_with_one_name_left_it_is_found_wherever_the_search_begins() -> None:
    every = [friendly_name("en", number=number, taken=()).casefold() for number in range(24 * 32)]
    last = every[500]

    assert friendly_name("en", number=3, taken={*every} - {last}).casefold() == last
