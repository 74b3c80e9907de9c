"""Libraries of the clients, from their registries into folders that git ignores, once for each state of a folder here.

Each language is installed where its tool is; what is missing is a sentence, which skips its clients.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.clients.table import Client
from tests.support.server import ROOT

HERE = Path(__file__).parent

LONGEST_S = 300.0


class Missing(Exception):
    """A tool is not here, or its registry did not answer: what to do about it."""


def install_all() -> dict[str, Path | Missing]:
    """By language: the folder that has the programs with their libraries, or why there is none."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(_INSTALLERS, pool.map(_installed, _INSTALLERS), strict=True))


def command_of(client: Client, folder: Path, url: str) -> list[str]:
    """Command line of its program."""
    started = {
        "js": ["node", str(folder / client.program)],
        "python": [str(folder / "env/bin/python"), str(folder / client.program)],
        "go": [str(folder / client.program)],
        "java": [
            "java",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{folder}{os.pathsep}{folder}/libraries/*",
            client.program,
        ],
    }
    return [*started[client.language], url, *client.arguments]


def _installed(language: str) -> Path | Missing:
    tools, install = _INSTALLERS[language]
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if absent:
        return Missing(f"needs {' and '.join(absent)} for the clients in tests/clients/{language}")
    folder = ROOT / ".venv-clients" / f"{language}-{_state(language)}"
    if folder.exists():
        return folder
    unfinished = folder.with_suffix(f".{os.getpid()}")
    shutil.copytree(HERE / language, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
    try:
        install(unfinished)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(unfinished)
        return Missing(
            f"could not install the clients in tests/clients/{language}: {error}\n{error.output or ''}"
        )
    unfinished.rename(folder)
    return folder


def _state(language: str) -> str:
    """One name for all that the folder holds: another version, or another line of a program, is installed anew."""
    files = sorted(path for path in (HERE / language).iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:12]


def _install_js(folder: Path) -> None:
    _run(["npm", "ci", "--no-audit", "--no-fund"], folder)


def _install_python(folder: Path) -> None:
    """An environment apart from ours, whose packages these must not change."""
    _run([sys.executable, "-m", "venv", "--copies", "env"], folder)
    _run(["env/bin/python", "-m", "pip", "install", "-q", "-r", "requirements.txt"], folder)


def _install_go(folder: Path) -> None:
    _run(["go", "build", "-o", "clients", "."], folder)


def _install_java(folder: Path) -> None:
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    _run(["mvn", "-q", "-B", plugin, f"-DoutputDirectory={folder}/libraries"], folder)
    _run(["javac", "-cp", "libraries/*", *(path.name for path in folder.glob("*.java"))], folder)


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(
        command,
        cwd=folder,
        check=True,
        timeout=LONGEST_S,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


_INSTALLERS: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "js": (("node", "npm"), _install_js),
    "python": ((), _install_python),
    "go": (("go",), _install_go),
    "java": (("javac", "mvn"), _install_java),
}
