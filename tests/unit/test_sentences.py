"""Everything that the server says by a code: each has its text, with the places that the code fills, and none is idle."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from app.core.errors import Conflict, Malformed
from app.core.sentence import Sentence, message_of, to_json
from app.core.trial import Severity
from app.i18n import (
    ENDING,
    LANGUAGES,
    REFUSAL,
    REMARK,
    REPORT,
    SERVER,
    catalogue,
    ending,
    from_json,
    in_language,
    refusal,
    remark,
)
from app.server.room import notes
from app.server.room.phases import Phase
from tests.unit.support_run import a_plan

APP = Path(__file__).resolve().parents[2] / "app"

PHASE = "phase."
"""Keys of words that fill the place of that name."""

SAID_WITHOUT_A_NAME = {"server_full", "address_full", "malformed", "unknown", "conflict", "damaged", "other"}
SAID_WITHOUT_A_NAME |= {"factor_useless_phones", "factor_useless_clients"}
SAID_WITHOUT_A_NAME |= {"no_such_page", "wrong_method", "failed", notes.NAMELESS, notes.OWN_WORDS}
SAID_WITHOUT_A_NAME |= {"address_too_long", "head_too_long", "request_unreadable"}
"""Codes that are chosen by what happened, so that no call names them."""


@cache
def calls() -> frozenset[tuple[str, frozenset[str], bool]]:
    """Key, places, and whether there may be more places, of each call of one of these three with a code."""
    return frozenset(_calls())


def _calls() -> Iterator[tuple[str, frozenset[str], bool]]:
    prefixes = {"refusal": REFUSAL, "remark": REMARK, "ending": ENDING}
    for path in sorted(APP.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in prefixes:
                code = node.args[0] if node.args else None
                if isinstance(code, ast.Constant):
                    given = frozenset(each.arg for each in node.keywords if each.arg)
                    is_open = any(each.arg is None for each in node.keywords)
                    yield prefixes[node.func.id] + str(code.value), given, is_open


def places_of(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)[:}]", text))


def test_each_code_has_a_text_whose_places_are_filled() -> None:
    texts = catalogue(LANGUAGES[0], SERVER)

    assert len(calls()) > 100
    assert sorted(key for key, _given, _is_open in calls() if key not in texts) == []
    assert [
        (key, places_of(texts[key]) - given)
        for key, given, is_open in calls()
        if not is_open and not places_of(texts[key]) <= given
    ] == []


def sentences_of_the_core() -> Iterator[tuple[str, str]]:
    """Key and English sentence of each row in which a plan checks itself."""
    tree = ast.parse((APP / "core" / "plan" / "scenario.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3:
            _, code, sentence = node.elts
            if isinstance(code, ast.Constant) and isinstance(sentence, ast.Constant):
                yield REFUSAL + str(code.value), str(sentence.value)


@pytest.mark.parametrize(("key", "english"), sorted(sentences_of_the_core()))
def test_a_sentence_of_the_core_which_reads_no_catalogue_is_the_catalogue_s(key: str, english: str) -> None:
    assert catalogue(LANGUAGES[0], SERVER)[key] == english


def test_what_is_wrong_with_a_plan_s_numbers_has_a_code() -> None:
    with pytest.raises(Malformed) as raised:
        replace(a_plan(), blocks=0)

    said = message_of(raised.value)
    assert isinstance(said, Sentence)
    assert len(list(sentences_of_the_core())) > 10
    assert in_language("id", said) == catalogue("id", SERVER)["refusal.plan_blocks_range"]


def test_no_text_waits_for_a_code_that_nobody_says() -> None:
    said = {key for key, _given, _is_open in calls()}
    said |= {prefix + code for prefix in (REFUSAL, REMARK) for code in SAID_WITHOUT_A_NAME}
    said |= {key for key, _ in sentences_of_the_core()}

    texts = {key for key in catalogue(LANGUAGES[0], SERVER) if not key.startswith(PHASE)}

    assert texts - said == set()


def raised_with_plain_text(path: Path) -> Iterator[str]:
    """Errors that a view may let through whose sentence is written in the code."""
    names = {"Conflict", "Unknown", "Forbidden", "Unauthorized", "NotFound", "TooManyRequests", "SpoolFull"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in names:
            continue
        if any(isinstance(each, ast.Constant | ast.JoinedStr) for each in node.args):
            yield f"{path.name}:{node.lineno}"


def test_no_refusal_of_the_server_is_in_one_language_only() -> None:
    server = APP / "server"
    folders = (server / "web", server / "room", APP / "store" / "archive")
    paths = [*server.glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))]

    assert paths
    assert [each for path in paths for each in raised_with_plain_text(path)] == []


def test_an_error_is_its_english_sentence_and_can_be_said_in_another_language() -> None:
    error = Conflict(refusal("room_full", count=200))

    assert str(error) == "The room is full: it holds 200 devices."
    assert in_language("id", error.args[0]) == "Ruang sudah penuh: isinya 200 perangkat."


def test_a_place_may_hold_a_word_that_is_said_in_the_readers_language_too() -> None:
    assert {PHASE + phase for phase in Phase} <= set(catalogue("id", SERVER))
    assert "sedang tertutup:" in in_language("id", refusal("cannot_start", phase=Phase.CLOSED))


def test_every_reason_for_which_a_block_is_void_is_a_code_of_a_warning() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in APP.rglob("*.py"))
    codes = [key.removeprefix(notes.CAUSE) for key in catalogue("en", REPORT) if key.startswith(notes.CAUSE)]
    codes.remove("unknown")

    assert codes
    assert [code for code in codes if f'"{code}"' not in source] == []
    assert Severity.VOID.value == "void"


LEFT = remark("left", name="Red Gecko", pseudonym="P1", device="d-1")


def test_a_note_goes_out_without_the_name_and_is_read_with_it() -> None:
    sent = notes.to_json(LEFT)

    assert sent == {"code": "left", "parameters": {"pseudonym": "P1"}, "device": "d-1"}
    told = notes.render_note(sent, language="id", name_of={"d-1": "Red Gecko"}.get)
    assert told["text"].replace("\u2068", "").replace("\u2069", "") == (
        "Red Gecko (P1) sudah pergi; yang lain melanjutkan."
    )


def test_who_had_itself_deleted_is_not_named_in_notes_any_more() -> None:
    told = notes.render_note(notes.to_json(LEFT), language="en", name_of=lambda _device: None)

    assert "Gecko" not in str(told)
    assert "A phone" in told["text"]
    assert notes.without_name(LEFT) == "A phone (P1) has left; the others go on."


def test_the_reason_of_a_void_block_is_in_the_readers_language() -> None:
    sent = notes.to_json(remark("void_block", block=2, clients=3, why="P1 slept 2 s.", why_code="asleep"))

    english, indonesian = (
        notes.render_note(sent, language=each, name_of=dict[str, str]().get)["text"] for each in LANGUAGES
    )

    assert "P1 slept 2 s." in english
    assert "slept" not in indonesian
    assert "tertidur" in indonesian


def test_words_without_a_code_are_passed_on_as_they_are_and_bounded() -> None:
    sent = notes.to_json("{braces} " + "x" * 1000)

    told = notes.render_note(sent, language="id", name_of=dict[str, str]().get)["text"]

    assert told.startswith("{braces} x")
    assert len(told) == notes.TEXT_CHARS_MAX


def test_a_sentence_within_a_sentence_comes_through_another_process_in_either_language() -> None:
    refused = ending(
        "server_refused", request="POST /api/room", status=409, detail=refusal("room_full", count=3)
    )

    found = from_json(json.loads(json.dumps(to_json(refused))))

    assert (
        found
        == refused
        == "The server refused POST /api/room with 409: The room is full: it holds 3 devices."
    )
    assert isinstance(found, Sentence)
    assert in_language("id", found).endswith("409: Ruang sudah penuh: isinya 3 perangkat.")


def test_text_without_a_code_comes_through_as_it_is() -> None:
    assert from_json(to_json("{braces} and all")) == "{braces} and all"


@pytest.mark.parametrize(
    "said",
    [{}, {"code": 7}, {"code": "no.such", "parameters": {}}, {"code": "ending.stopped", "parameters": 1}],
)
def test_what_another_process_made_up_is_refused(said: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_json(said)
