"""Gates as JUnit XML, which every CI service shows: one test case per gate, and one for the generator.

A case that was not judged is skipped; the error of the run's validity or of its ending, or the exit code, fails the job.
A ramp is meant to break its gates, so it has one case per transport, which fails if the gates held at no level.

CI services recognise a case by class and name from run to run, so both hold only what was asked for, and nothing that was
measured. They sum the times of the cases: the first, which stands for the measurement, has the run's, the others 0.

Format: the de-facto schema of Jenkins's, GitLab's and GitHub's reporters (`testsuites`, `testsuite`, `testcase`,
`failure`, `error`, `skipped`, `system-out`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from app.core.gate_verdict import GateVerdict
from app.i18n import LANGUAGES, speaker
from app.tools.load import words
from app.tools.load.result import Kind, LoadResult

SUITE = "siar load"
XML_FORBIDDEN = {code: None for code in range(32) if chr(code) not in "\t\n\r"}
"""Control characters, which XML 1.0 does not allow."""

CLASS = "siar.load"
VALIDITY = "the load generator is valid"
ENDING = "the run is complete"

DIFFER = "The medians differ by more than 0.1 ms and 10 %."
NOTHING_TO_COMPARE = "Not compared: no block has a valid trial of both."

_english = speaker(LANGUAGES[0])


@dataclass(frozen=True, slots=True)
class _Case:
    """One test case."""

    name: str
    failure: str | None = None
    skipped: str | None = None
    """The reason why it was not judged."""
    error: Sequence[str] = ()
    """Lines on a fault of the measurement, the first of them the message."""
    output: str | None = None
    """Findings of a case that is more than passed or failed."""
    duration_s: float = 0.0


def junit_text(result: LoadResult, *, run: str, duration_s: float) -> str:
    """Return the XML document. `run`: the run's id."""
    cases = [*_run_cases(result, duration_s), *_judged_cases(result)]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=SUITE,
        tests=str(len(cases)),
        failures=str(sum(each.failure is not None for each in cases)),
        errors=str(sum(bool(each.error) for each in cases)),
        skipped=str(sum(each.skipped is not None for each in cases)),
        time=_seconds(duration_s),
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="run", value=_clean(run))
    for each in cases:
        _write(suite, each)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _run_cases(result: LoadResult, duration_s: float) -> Iterator[_Case]:
    """Yield the cases of the measurement itself."""
    troubles = [_english(each) for each in (*result.troubles, *result.advice)] if result.troubles else []
    if not result.levels:
        troubles.append(_english(words.validity_sentence(result)))
    yield _Case(VALIDITY, error=troubles, duration_s=duration_s)
    yield _Case(ENDING, error=() if result.complete else (_english(words.BROKEN_OFF),))


def _judged_cases(result: LoadResult) -> Iterator[_Case]:
    if result.kind is Kind.RAMP:
        yield from _ramp_cases(result)
        return
    for gate in result.gates:
        yield _case(str(gate.gate), gate.verdict, _english(gate.reason))
    for each in result.agreement:
        yield _case(
            f"{each.transport} with {each.users} users: built-in clients and Locust agree",
            each.verdict,
            DIFFER if each.blocks else NOTHING_TO_COMPARE,
        )


def _case(name: str, verdict: GateVerdict, reason: str, output: str | None = None) -> _Case:
    return _Case(
        name,
        failure=reason if verdict is GateVerdict.MISSED else None,
        skipped=reason if verdict is GateVerdict.NOT_JUDGED else None,
        output=output,
    )


def _ramp_cases(result: LoadResult) -> Iterator[_Case]:
    for arm, message in words.capacity_sentences(result).items():
        capacity, sentence = result.capacity[arm], _english(message)
        verdict = GateVerdict.HELD if capacity.users is not None else GateVerdict.MISSED
        if (
            not result.is_valid
            or capacity.is_unknown
            or (verdict is GateVerdict.HELD and not result.complete)
        ):
            verdict = GateVerdict.NOT_JUDGED
        yield _case(
            f"{arm}: a capacity under {words.gates_listed(result)}",
            verdict,
            sentence,
            output="\n".join((sentence, *(_english(each.reason) for each in result.gates))),
        )


def _write(suite: ElementTree.Element, case: _Case) -> None:
    element = ElementTree.SubElement(
        suite, "testcase", classname=CLASS, name=_clean(case.name), time=_seconds(case.duration_s)
    )
    for tag, message in (("skipped", case.skipped), ("failure", case.failure)):
        if message is not None:
            ElementTree.SubElement(element, tag, message=_clean(message))
    if case.error:
        ElementTree.SubElement(element, "error", message=_clean(case.error[0])).text = _clean(
            "\n".join(case.error)
        )
    if case.output is not None:
        ElementTree.SubElement(element, "system-out").text = _clean(case.output)


def _seconds(duration_s: float) -> str:
    return f"{duration_s:.3f}"


def _clean(text: str) -> str:
    return text.translate(XML_FORBIDDEN)
