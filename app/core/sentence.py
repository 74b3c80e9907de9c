"""A sentence that can be said in another language too: by its code, and what fills its places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Sentence(str):
    """English text that knows where it came from: errors and notes carry it wherever they carry text."""

    __slots__ = ("code", "places")

    code: str
    """Key of the catalogue, e.g. `refusal.room_full`; stable, for programs."""
    places: Mapping[str, object]
    """What its places are filled with, by name."""

    def __new__(cls, text: str, code: str, places: Mapping[str, object]) -> Sentence:
        """The English `text`, and how to say it anew."""
        made = super().__new__(cls, text)
        made.code, made.places = code, dict(places)
        return made


def parameters(places: Mapping[str, object]) -> dict[str, str | int | float]:
    """What fills the places, as plain JSON values."""
    return {
        name: value if isinstance(value, int | float) else str(value)
        for name, value in places.items()
        if value is not None
    }


def words_of(error: Exception) -> str:
    """What an error says: a `Sentence` where it has a code."""
    said = error.args[0] if error.args else None
    return said if isinstance(said, Sentence) else str(error)


def to_json(text: str) -> dict[str, Any]:
    """What another process needs to say it again: code and places, sentences among them alike; else the text."""
    if not isinstance(text, Sentence):
        return {"text": text}
    said = {name: to_json(value) for name, value in text.places.items() if isinstance(value, Sentence)}
    return {"code": text.code, "parameters": parameters(text.places) | said}
