"""Notes of a runner about its run, rendered in the reader's language.

A note holds a code and, if it is about a device, the device's id. The device's name is looked up when the note is read and
is stored nowhere else, so that a participant who has its records deleted is no longer named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.core.sentence import Sentence, parameters
from app.i18n import LANGUAGES, REMARK, REPORT, SERVER, catalogue, in_language, remark

NAMELESS = "nameless"
"""The remark that replaces the name of a device that is gone."""

CAUSE = "cause."
"""Prefix of the catalogue keys for clauses on why a trial is invalid, by warning code."""

TEXT_CHARS_MAX = 500

OWN_WORDS = "words"
"""The remark that wraps a sentence without a code."""


def to_json(sentence: str) -> dict[str, Any]:
    """Return a sentence in the runner's wire form: without the device's name, which the server knows."""
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


def render_note(
    note: Mapping[str, Any], *, language: str, name_of: Callable[[str], str | None]
) -> dict[str, Any]:
    """Return a note in readable form: code, parameters, and the text in the reader's language."""
    words = catalogue(language, SERVER)
    places = dict(note["parameters"])
    if note["device"] is not None:
        places["name"] = name_of(note["device"]) or words[REMARK + NAMELESS]
    if why := cause_sentence(places.get("why_code"), language):
        places["why"] = why
    # Isolated (U+2068, U+2069): a name written from right to left must not turn the sentence around.
    isolated = {**places, "name": f"\u2068{places.get('name', '')}\u2069"}
    try:
        text = words[REMARK + note["code"]].format(**isolated)
    except KeyError:  # The runner has another version.
        text = str(note["code"])
    return {"code": note["code"], "parameters": places, "text": text}


def cause_sentence(code: object, language: str) -> str | None:
    """Return a sentence on why trials with the warning `code` are invalid, which replaces the runner's English one.

    It is `None` in English, since the runner's own sentence has the figures, too, and for an unknown code.
    """
    clause = catalogue(language, REPORT).get(f"{CAUSE}{code}")
    return None if clause is None or language == LANGUAGES[0] else f"{clause[0].upper()}{clause[1:]}."


def without_name(sentence: str) -> str:
    """Return the sentence in English without the device's name, for a log from which names cannot be deleted."""
    if not isinstance(sentence, Sentence) or "device" not in sentence.places:
        return sentence
    places = {**sentence.places, "name": remark(NAMELESS)}
    return in_language(LANGUAGES[0], Sentence("", sentence.code, places))
