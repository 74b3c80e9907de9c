"""Gates as JUnit XML, which every CI service shows: one test case per gate, and one for the generator.

A ramp is meant to break its gates, so it has one case per transport, which fails if the gates held at no level. A run
that was interrupted has an additional error, because its gates were judged by a part of it.

Format: the de-facto schema of Jenkins's, GitLab's and GitHub's reporters (`testsuites`, `testsuite`, `testcase`,
`failure`, `error`, `skipped`, `system-out`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from app.i18n import LANGUAGES, speaker
from app.tools.load.result import Kind, LoadResult
from app.tools.load.words import BROKEN_OFF, capacity_sentences, gates_listed

SUITE = "siar load"
XML_FORBIDDEN = {code: None for code in range(32) if chr(code) not in "\t\n\r"}
"""Control characters, which XML 1.0 does not allow."""

DIFFER = "The medians differ by more than 0.1 ms and a tenth."
NOTHING_TO_COMPARE = "No block of both is to be believed."

_english = speaker(LANGUAGES[0])


@dataclass(frozen=True, slots=True)
class _Case:
    """One test case."""

    name: str
    failure: str | None = None
    skipped: str | None = None
    """The reason why nothing is known of it."""
    output: str | None = None
    """Findings of a case that is more than passed or failed."""


def junit_text(result: LoadResult, *, run: str, duration_s: float) -> str:
    """Return the XML document."""
    cases = list(_ramp_cases(result) if result.kind is Kind.RAMP else _gate_cases(result))
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=SUITE,
        tests=str(len(cases) + 1 + int(not result.complete)),
        failures=str(sum(each.failure is not None for each in cases)),
        errors=str(int(not result.is_valid) + int(not result.complete)),
        skipped=str(sum(each.skipped is not None for each in cases)),
        time=f"{duration_s:.3f}",
    )
    generator = ElementTree.SubElement(
        suite, "testcase", classname=run, name="the generator is to be believed"
    )
    if not result.is_valid:
        troubles = [_clean(_english(each)) for each in (*result.troubles, *result.advice)]
        ElementTree.SubElement(generator, "error", message=troubles[0]).text = "\n".join(troubles)
    if not result.complete:
        ending = ElementTree.SubElement(suite, "testcase", classname=run, name="the run came to its end")
        ElementTree.SubElement(ending, "error", message=_english(BROKEN_OFF))
    for each in cases:
        _write(suite, run, each)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _gate_cases(result: LoadResult) -> Iterator[_Case]:
    for gate in result.gates:
        yield _Case(str(gate.gate), failure=None if gate.held else _english(gate.reason))
    for each in result.agreement:
        yield _Case(
            f"{each.transport} with {each.users} users: built-in clients and Locust agree",
            failure=None if each.agrees else DIFFER if each.blocks else NOTHING_TO_COMPARE,
        )


def _ramp_cases(result: LoadResult) -> Iterator[_Case]:
    for arm, message in capacity_sentences(result).items():
        capacity, sentence = result.capacity[arm], _english(message)
        is_missed = capacity.users is None and not capacity.is_unknown
        yield _Case(
            # The name has no figure in it, because CI services recognise a test case by its name from run to run.
            f"{arm}: a capacity under {gates_listed(result)}",
            failure=sentence if is_missed else None,
            skipped=sentence if capacity.is_unknown else None,
            output="\n".join((sentence, *(_english(each.reason) for each in result.gates))),
        )


def _write(suite: ElementTree.Element, run: str, case: _Case) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=run, name=_clean(case.name))
    if case.skipped is not None:
        ElementTree.SubElement(element, "skipped", message=_clean(case.skipped))
    if case.failure is not None:
        ElementTree.SubElement(element, "failure", message=_clean(case.failure))
    if case.output is not None:
        ElementTree.SubElement(element, "system-out").text = _clean(case.output)


def _clean(text: str) -> str:
    return text.translate(XML_FORBIDDEN)
