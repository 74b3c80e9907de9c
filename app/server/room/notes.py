"""What a runner lets people know of its run, in the reader's language.

A note says what happened by a code, and of which device. The device's name is looked up when somebody reads: it is
kept nowhere else, so that a participant who has what is recorded about it deleted is not named here any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.core.sentence import Sentence, parameters
from app.i18n import LANGUAGES, REMARK, SERVER, catalogue, in_language, remark

NAMELESS = "nameless"
"""The remark that stands for the name of a device that is not here any more."""

VOID = "void."
"""Keys of the reasons for which a block is void, by a warning's code; they stand for the figures, which are in English."""

TEXT_CHARS_MAX = 500

OWN_WORDS = "words"
"""The remark of a sentence without a code."""


def to_json(sentence: str) -> dict[str, Any]:
    """A sentence as the runner sends it: without the name, which the server knows."""
    if not isinstance(sentence, Sentence):
        sentence = remark(OWN_WORDS, words=sentence)
    places = {name: value for name, value in sentence.places.items() if name not in ("device", "name")}
    return {
        "code": sentence.code.removeprefix(REMARK),
        "parameters": {name: _bounded(value) for name, value in parameters(places).items()},
        "device": sentence.places.get("device"),
    }


def _bounded(value: str | int | float) -> str | int | float:
    return value[:TEXT_CHARS_MAX] if isinstance(value, str) else value


def said(note: Mapping[str, Any], *, language: str, name_of: Callable[[str], str | None]) -> dict[str, Any]:
    """A note as people read it: code, parameters, and the text in their language."""
    words = catalogue(language, SERVER)
    places = dict(note["parameters"])
    if note["device"] is not None:
        places["name"] = name_of(note["device"]) or words[REMARK + NAMELESS]
    if language != LANGUAGES[0] and (why := words.get(f"{VOID}{places.get('why_code')}")):
        places["why"] = why
    # Isolated (U+2068, U+2069): a name written from right to left must not turn the sentence around.
    isolated = {**places, "name": f"\u2068{places.get('name', '')}\u2069"}
    try:
        text = words[REMARK + note["code"]].format(**isolated)
    except KeyError:  # From a runner of another version.
        text = str(note["code"])
    return {"code": note["code"], "parameters": places, "text": text}


def without_name(sentence: str) -> str:
    """The same in English for a log, which nobody's deletion reaches."""
    if not isinstance(sentence, Sentence) or "device" not in sentence.places:
        return sentence
    places = {**sentence.places, "name": remark(NAMELESS)}
    return in_language(LANGUAGES[0], Sentence("", sentence.code, places))
