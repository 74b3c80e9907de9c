"""A headline as JSON: its code, its message by key and arguments, and its sentence in both languages."""

from __future__ import annotations

from typing import Any

from app.core.messages import Message
from app.i18n import LANGUAGES, text


def headline_json(code: str, sentence: Message) -> dict[str, Any]:
    """Return a headline for `result.json` and `load.json`. An argument that is a message has `key` and `args` too."""
    return {"code": code, **_plain(sentence), **_sentences(sentence)}


def verdict_json(code: str, sentence: Message) -> dict[str, str]:
    """Return a headline for `verdict` of `result.json`, a phone's result and the room: without its message."""
    return {"code": code, **_sentences(sentence)}


def _sentences(sentence: Message) -> dict[str, str]:
    return {f"sentence_{language}": text(sentence, language) for language in LANGUAGES}


def _plain(value: Any) -> Any:
    match value:
        case Message(key, args):
            return {"key": key, "args": {name: _plain(each) for name, each in args.items()}}
        case tuple() | list():
            return [_plain(each) for each in value]
    return value
