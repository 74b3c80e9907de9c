"""Output of findings: lines for a terminal, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.i18n import Words
from app.tools.doctor.finding import Finding, FindingState

SCHEMA_VERSION = 1
"""Version of the JSON document. 1: the first."""


def lines(findings: Iterable[Finding], words: Words) -> Iterator[str]:
    """Yield a line with state and sentence for each finding, and another one for its next step."""
    marks = {state: words.say(f"doctor.state.{state}") for state in FindingState}
    width = max(len(mark) for mark in marks.values())
    for finding in findings:
        yield f"  {marks[finding.state]:<{width}}  {finding.sentence(words)}"
        step = finding.next_step(words)
        if step is not None:
            yield f"  {'':<{width}}  {step}"


def as_json(findings: Sequence[Finding], words: Words) -> str:
    """Return the findings as JSON: codes for programs, sentences for people."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "fit": all(finding.state is not FindingState.FAIL for finding in findings),
        "language": words.language,
        "checks": [
            {
                "name": finding.name,
                "state": finding.state.value,
                "code": finding.code,
                "sentence": finding.sentence(words),
                "next_step": finding.next_step(words),
                "values": {name: str(value) for name, value in finding.places.items()},
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
