"""The figures as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.tools.mutants.judge import HUNG, KILLED, Verdict
from tests.tools.mutants.places import PACKAGES


def share(verdicts: Sequence[Verdict]) -> float:
    """Return the share of noticed mutants in percent."""
    return 100 * sum(each.is_noticed for each in verdicts) / len(verdicts) if verdicts else 0.0


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a row for each package."""
    yield "| package | mutants | killed | hung | not noticed | noticed |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in PACKAGES:
        of = [each for each in verdicts if each.path.startswith(name)]
        if of:
            yield _row(f"`{name}`", of)
    yield _row("together", verdicts)


def survivors(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield a row for each mutant that was not noticed; the reason has to be filled in by hand."""
    yield "| where | was | became | outcome | why it lives |"
    yield "| --- | --- | --- | --- | --- |"
    for each in sorted(verdicts, key=lambda verdict: (verdict.path, verdict.line)):
        if not each.is_noticed:
            was, became = _code(each.before), _code(each.after)
            yield f"| `{each.path}:{each.line}` | {was} | {became} | {each.outcome} | |"


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    count = Counter(each.outcome for each in verdicts)
    lived = len(verdicts) - count[KILLED] - count[HUNG]
    return (
        f"| {name} | {len(verdicts)} | {count[KILLED]} | {count[HUNG]} | {lived} | {share(verdicts):.1f} % |"
    )


def _code(text: str) -> str:
    one_line = " ".join(text.split()).replace("|", "\\|")
    return f"`{one_line}`" if one_line else "(nothing)"
