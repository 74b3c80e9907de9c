"""A translatable sentence: English text with its catalogue key and the values of its placeholders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Sentence(str):
    """English text with its catalogue key; it is used wherever an error or a note carries text."""

    __slots__ = ("code", "places")

    code: str
    """Key in the catalogue, e.g. `refusal.room_full`; stable, for programs."""
    places: Mapping[str, object]
    """Values of its placeholders, by name."""

    def __new__(cls, text: str, code: str, places: Mapping[str, object]) -> Sentence:
        """Store the English `text` with the key and values from which it can be formatted in another language."""
        made = super().__new__(cls, text)
        made.code, made.places = code, dict(places)
        return made


def parameters(places: Mapping[str, object]) -> dict[str, str | int | float]:
    """Return the placeholders' values as plain JSON values; `None` is left out."""
    return {
        name: value if isinstance(value, int | float) else str(value)
        for name, value in places.items()
        if value is not None
    }


def message_of(error: Exception) -> str:
    """Return an error's message: a `Sentence` if it has a code, else its text."""
    message = error.args[0] if error.args else None
    return message if isinstance(message, Sentence) else str(error)


def to_json(text: str) -> dict[str, Any]:
    """Encode a sentence for another process: its code and values, nested sentences included; else the plain text."""
    if not isinstance(text, Sentence):
        return {"text": text}
    nested = {name: to_json(value) for name, value in text.places.items() if isinstance(value, Sentence)}
    return {"code": text.code, "parameters": parameters(text.places) | nested}
