"""axe-core on a tab: what keeps somebody from using the page, as far as a machine can tell."""

from __future__ import annotations

from pathlib import Path

from tests.browser.cdp import Page
from tests.components import require_node_modules

RUN = """
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => violations.flatMap(
  ({id, help, nodes}) => nodes.map(({target, failureSummary}) => `${id}: ${help} at ${target}: ${failureSummary}`)))
"""


def axe_source() -> str:
    """The library, from tests/js/node_modules."""
    return _file(require_node_modules()).read_text(encoding="utf-8")


def violations(page: Page, source: str) -> list[str]:
    """Each violation in a line, with the element. The debugger's own evaluation is above the page's policy."""
    if not page.evaluate("'axe' in globalThis"):
        page.call("Runtime.evaluate", expression=source)
    found: list[str] = page.evaluate(RUN)
    return found


def _file(modules: Path) -> Path:
    return modules / "axe-core" / "axe.min.js"
