"""Possible small changes in files, and a random sample of them."""

from __future__ import annotations

import ast
import hashlib
import itertools
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

PACKAGES = ("app/core", "app/server/broker", "app/server/fanout/fanout.py", "app/lab/analysis")
"""Packages that the default sample is drawn from (docs/mutation.md)."""

NOT_OF_INTEREST = ("VariableReplacer", "VariableInserter")
"""Operators that require names as arguments and insert random numbers."""

SIGNATURES = {"parameters", "lambdef"}
"""In these nodes a star is no multiplication, although Cosmic Ray takes it for one."""

NOTHING_TO_DO = {"name", "string", "newline", "endmarker"}
"""Node types that no operator changes. They are most nodes, and trying two hundred operators on each takes long."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    code: str
    """The whole changed file."""

    @property
    def name(self) -> str:
        """Location and operator."""
        return f"{self.path}:{self.line} {self.operator}"


@dataclass(frozen=True, slots=True)
class Place:
    """A node that can be changed, with its changes as (operator, index among the operator's positions in the file)."""

    path: str
    line: int
    column: int
    text: str
    twin: int
    """Number of identical lines above it in the file."""
    changes: tuple[tuple[str, int], ...]

    def rank(self, seed: int) -> str:
        """Return its rank in the sample. It depends on the line's own text, so that edits elsewhere change nothing."""
        return _hash(seed, self.path, self.text, self.twin, self.column)


def sample(root: Path, *, seed: int, count: int, packages: Sequence[str] = PACKAGES) -> list[Mutant]:
    """Return `count` mutants: places are drawn with equal probability, and one change for each place."""
    places = sorted(
        (place for path in files(root, packages) for place in places_in(root, path)),
        key=lambda place: place.rank(seed),
    )
    made = (mutant_at(root, place, seed) for place in places)
    return list(itertools.islice((mutant for mutant in made if mutant is not None), count))


def files(root: Path, packages: Sequence[str]) -> list[str]:
    """Return the modules in these packages, as paths from the root."""
    found = [path for name in packages for path in sorted([root / name, *(root / name).rglob("*.py")])]
    return [path.relative_to(root).as_posix() for path in found if path.suffix == ".py"]


def places_in(root: Path, path: str) -> Iterator[Place]:
    """Yield every place in a file at which at least one operator applies."""
    source = (root / path).read_text(encoding="utf-8")
    lines = source.splitlines()
    changes: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for node in ast_nodes(get_ast(source)):
        if node.type in NOTHING_TO_DO:
            continue
        for name, operator in OPERATORS.items():
            for start, _end in operator.mutation_positions(node):
                if getattr(node.parent, "type", "") not in SIGNATURES:
                    changes[start].append((name, seen[name]))
                seen[name] += 1
    for (line, column), found in changes.items():
        text = lines[line - 1]
        yield Place(path, line, column, text, lines[: line - 1].count(text), tuple(found))


def mutant_at(root: Path, place: Place, seed: int) -> Mutant | None:
    """Return a random change of the place, or `None` if none of them changes the program's meaning."""
    source = (root / place.path).read_text(encoding="utf-8")
    meant = meaning(source)
    drawn = sorted(place.changes, key=lambda change: _hash(seed, place.rank(seed), *change))
    for name, occurrence in drawn:
        code = mutate_code(source, OPERATORS[name], occurrence)
        if code is not None and meaning(code) not in (None, meant):
            before, after = _difference(source, code)
            return Mutant(place.path, place.line, name, before, after, code)
    return None


def meaning(source: str) -> str | None:
    """Return the program without annotations, which have no effect; `None` if it does not compile cleanly."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.annotation = ast.Constant(0)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        return self.generic_visit(node)  # type: ignore[return-value]


def _difference(before: str, after: str) -> tuple[str, str]:
    """Return the lines that differ, without their context."""
    old, new = before.splitlines(), after.splitlines()
    start = next(index for index, pair in enumerate(itertools.zip_longest(old, new)) if pair[0] != pair[1])
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return (
        "\n".join(old[start : len(old) - end]).strip(),
        "\n".join(new[start : len(new) - end]).strip(),
    )


def _hash(*words: object) -> str:
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()


def _operators() -> dict[str, Any]:
    provider = OperatorProvider()
    return {name: provider[name]() for name in provider if name not in NOT_OF_INTEREST}


OPERATORS = _operators()
"""Cosmic Ray's operators by name."""
