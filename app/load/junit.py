"""The gates as JUnit XML, which every CI service shows: a test case for each gate, and one for the generator.

Form: the de-facto schema that Jenkins, GitLab and GitHub's reporters read (`testsuites`, `testsuite`, `testcase`,
`failure`, `error`).
"""

from __future__ import annotations

from xml.etree import ElementTree

from app.load.result import LoadResult

SUITE = "siar load"
XML_FORBIDDEN = {code: None for code in range(32) if chr(code) not in "\t\n\r"}
"""Characters that XML 1.0 cannot hold."""


def junit_text(result: LoadResult, *, run: str, duration_s: float) -> str:
    """The document."""
    gates = [(str(each.gate), None if each.held else each.reason) for each in result.gates]
    gates += [
        (
            f"{each.transport} with {each.users} users: built-in clients and Locust agree",
            _disagreement(each.agrees),
        )
        for each in result.agreement
    ]
    failures = sum(reason is not None for _, reason in gates)
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=SUITE,
        tests=str(len(gates) + 1),
        failures=str(failures),
        errors=str(int(not result.is_valid)),
        time=f"{duration_s:.3f}",
    )
    generator = ElementTree.SubElement(
        suite, "testcase", classname=run, name="the generator is to be believed"
    )
    if not result.is_valid:
        error = ElementTree.SubElement(generator, "error", message=_clean(result.troubles[0]))
        error.text = _clean("\n".join((*result.troubles, *result.advice)))
    for name, reason in gates:
        case = ElementTree.SubElement(suite, "testcase", classname=run, name=_clean(name))
        if reason is not None:
            ElementTree.SubElement(case, "failure", message=_clean(reason))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _disagreement(agrees: bool) -> str | None:  # noqa: FBT001 - one value in, one out
    return None if agrees else "The medians differ by more than 0.1 ms and a tenth."


def _clean(text: str) -> str:
    return text.translate(XML_FORBIDDEN)
