"""Dependencies and their licences: `python -m tests.tools.licences [--out docs/licences.md]`.

It follows the requirement files through what is installed, so run it where `./siar test` has installed everything.
Versions are left out on purpose: the list changes when a dependency is added or removed, not with every release.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "requirements.txt": "What serving and measuring need; everybody installs these.",
    "requirements-https.txt": "For `serve --https`, installed on its first use.",
    "requirements-report.txt": "For further formats of reports, installed on their first use.",
    "tests/requirements.txt": "For the test suite only.",
    "tests/requirements-mutants.txt": "For `python -m tests.tools.mutants` and `python -m tests.tools.coverage_report`, installed by hand.",
}
"""In order of reach: what an earlier file requires is not listed again under a later one."""

LOCK = ROOT / "tests" / "js" / "package-lock.json"
VENDOR = ROOT / "static" / "vendor"
OTHERS = (ROOT / "app" / "lab" / "report" / "renderers" / "fonts",)

WORDS = {
    "sil open font license": "OFL-1.1",
    "bitstream vera": "Bitstream-Vera",
    "permission is hereby granted, free of charge": "MIT",
}
"""Phrases by which a licence's text is recognised, in lower case."""

TITLES = {
    "MIT License": "MIT",
    "BSD License": "BSD",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Older names of licences in packages, and their current names."""


@dataclass(frozen=True, slots=True)
class Work:
    """A dependency that is used unchanged."""

    name: str
    licence: str
    """An SPDX expression if its authors give one; empty if they state no licence."""
    home: str = ""


def normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named_in(requirements: Path) -> Iterator[str]:
    """Yield the distributions that a file requires."""
    for line in requirements.read_text(encoding="utf-8").splitlines():
        found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
        if found:
            yield normal(found[0])


def needed_by(name: str) -> Iterator[str]:
    """Yield the requirements of a distribution in this environment, without extras."""
    for requirement in metadata.requires(name) or []:
        if "extra ==" not in requirement:
            yield normal(re.match(r"[A-Za-z0-9._-]+", requirement)[0])  # type: ignore[index]


def closure(names: Iterator[str], seen: set[str]) -> list[Work]:
    """Return the installed dependencies of these names that were not seen before, including indirect ones."""
    found, waiting = [], list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        try:
            package = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue  # It is for another platform, or for an older Python.
        seen.add(name)
        found.append(Work(package["Name"], licence_of(package), home_of(package)))
        waiting.extend(needed_by(name))
    return sorted(found, key=lambda each: normal(each.name))


def field_of(package: metadata.PackageMetadata, name: str) -> str:
    """Return one field of its metadata; empty where it has none."""
    return package[name] if name in package else ""  # noqa: SIM401 - the declared type has no `get`


def licence_of(package: metadata.PackageMetadata) -> str:
    """Return the licence from its metadata: the expression, the older field, or the classifiers."""
    expression = field_of(package, "License-Expression")
    if expression:
        return expression
    classified = [
        each.rpartition(" :: ")[2]
        for each in package.get_all("Classifier") or []
        if each.startswith("License :: ")
    ]
    field = field_of(package, "License").strip()
    if field and len(field) < 40:
        return TITLES.get(field, field)
    return " OR ".join(TITLES.get(each, each) for each in classified)


def home_of(package: metadata.PackageMetadata) -> str:
    """Return the address of its source from its metadata."""
    urls = [each.partition(", ") for each in package.get_all("Project-URL") or []]
    wanted = ("source", "repository", "homepage", "home", "source code", "code", "github", "documentation")
    for label in wanted:
        for name, _, url in urls:
            if name.lower() == label:
                return url
    return field_of(package, "Home-page")


def vendored() -> list[Work]:
    """Return third-party work in this repository; each has its licence's text in its folder."""
    folders = [
        *(each for each in sorted(VENDOR.iterdir()) if each.is_dir()),
        *(each for each in OTHERS if each.exists()),
    ]
    works = []
    for folder in folders:
        text = next(each for each in sorted(folder.iterdir()) if each.name.upper().startswith("LICENSE"))
        licence_text = text.read_text(encoding="utf-8").lower()
        licence = next((name for words, name in WORDS.items() if words in licence_text), "")
        works.append(Work(folder.relative_to(ROOT).as_posix(), licence, str(text.relative_to(ROOT))))
    return works


def javascript() -> Counter[str]:
    """Count the tools of the JavaScript tests by licence; they are installed for tests and never served."""
    packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    return Counter(str(each.get("license") or "not said") for path, each in packages.items() if path)


def document() -> str:
    """Return the page."""
    lines = [
        "# Licences",
        "",
        "Made by `python -m tests.tools.licences --out docs/licences.md`; do not edit it by hand.",
        "Siar itself is MIT, see [LICENSE](../LICENSE).",
        "Of what follows only the first table is copied into this repository; the rest is installed.",
        "",
        "## In this repository",
        "",
        *table(vendored()),
    ]
    seen: set[str] = set()
    for name, what in FILES.items():
        if (ROOT / name).exists():
            lines += ["", f"## {name}", "", what, "", *table(closure(named_in(ROOT / name), seen))]
    lines += ["", "## tests/js/package-lock.json", "", "Tools of the JavaScript tests, never served.", ""]
    lines += ["| licence | packages |", "| --- | ---: |"]
    lines += [f"| {licence} | {count} |" for licence, count in sorted(javascript().items())]
    return "\n".join(lines) + "\n"


def table(works: list[Work]) -> Iterator[str]:
    """Yield rows of Markdown."""
    yield "| work | licence | where |"
    yield "| --- | --- | --- |"
    for each in works:
        yield f"| {each.name} | {each.licence or 'not said'} | {each.home} |"


def main() -> int:
    """Run as a command. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="the file to write; otherwise it is printed")
    out = parser.parse_args().out
    if out is None:
        print(document(), end="")
    else:
        out.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
