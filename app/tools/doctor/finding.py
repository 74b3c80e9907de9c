"""What one check found: a state, a sentence and, where something is not as it should be, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.i18n import Words


class FindingState(StrEnum):
    """How good it is."""

    OK = "ok"
    WARN = "warn"
    """It works, but figures or some phones may suffer."""
    FAIL = "fail"
    """It cannot work like this."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. Its words are `doctor.<name>.<code>` and, unless ok, that with `.next`."""

    name: str
    """What was looked at: `port`."""
    state: FindingState
    code: str
    """What was found: `taken`."""
    places: Mapping[str, object] = field(default_factory=dict)
    """What its sentences are filled in with."""

    def sentence(self, words: Words) -> str:
        """What was found."""
        return words.say(f"doctor.{self.name}.{self.code}", **self.places)

    def next_step(self, words: Words) -> str | None:
        """What to do about it; `None` where there is nothing to do."""
        if self.state is FindingState.OK:
            return None
        return words.say(f"doctor.{self.name}.{self.code}.next", **self.places)


def ok(name: str, code: str, /, **places: object) -> Finding:
    """As it should be."""
    return Finding(name, FindingState.OK, code, places)


def warn(name: str, code: str, /, **places: object) -> Finding:
    """Works, with a drawback."""
    return Finding(name, FindingState.WARN, code, places)


def fail(name: str, code: str, /, **places: object) -> Finding:
    """Cannot work."""
    return Finding(name, FindingState.FAIL, code, places)
