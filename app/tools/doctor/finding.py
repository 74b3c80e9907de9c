"""The result of one check: a state, a sentence and, if something is wrong, the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.i18n import Words


class FindingState(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARN = "warn"
    """The service works, but figures or some phones may suffer."""
    FAIL = "fail"
    """The service cannot work like this."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. Its texts are `doctor.<name>.<code>` and, unless OK, the same key with `.next`."""

    name: str
    """The check, for example `port`."""
    state: FindingState
    code: str
    """The result, for example `taken`."""
    places: Mapping[str, object] = field(default_factory=dict)
    """Values for the placeholders of its texts."""

    def sentence(self, words: Words) -> str:
        """Return the sentence that says what was found."""
        return words.say(f"doctor.{self.name}.{self.code}", **self.places)

    def next_step(self, words: Words) -> str | None:
        """Return the suggested remedy; `None` for a finding that is OK."""
        if self.state is FindingState.OK:
            return None
        return words.say(f"doctor.{self.name}.{self.code}.next", **self.places)


def ok(name: str, code: str, /, **places: object) -> Finding:
    """Return a finding: as it should be."""
    return Finding(name, FindingState.OK, code, places)


def warn(name: str, code: str, /, **places: object) -> Finding:
    """Return a finding: works with a drawback."""
    return Finding(name, FindingState.WARN, code, places)


def fail(name: str, code: str, /, **places: object) -> Finding:
    """Return a finding: cannot work."""
    return Finding(name, FindingState.FAIL, code, places)
