"""What tests need from the machine. What is missing skips the test with a sentence, or fails it in CI.

Ask in the test or in a fixture, never at import, which every process pays for: `chromium = require_chromium()`.
"""

import importlib
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.tools import suite

STRICT = suite.strict()
"""Read once, at import, because the guard in conftest.py takes SIAR_* out of every test's environment."""

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def require_chromium() -> Path:
    """Path of a Chromium that runs headless."""
    return _first_of(CHROMIUM_NAMES, "Chromium (Debian: apt install chromium)")


def require_node() -> Path:
    """Path of Node.js."""
    return _first_of(("node",), "Node.js 18 or newer (Debian, Ubuntu: apt install nodejs npm)")


def require_node_modules() -> Path:
    """Path of tests/js/node_modules (socket.io-client among them), installed if it is not there yet."""
    try:
        return suite.install_js_tools()
    except suite.ComponentMissing as missing:
        without(str(missing))


def require_tool(name: str, package: str) -> Path:
    """Path of any other program, with the Debian package that brings it."""
    return _first_of((name,), f"{name} (Debian, Ubuntu: apt install {package})")


def require_library(name: str) -> Any:
    """A module of a library that tests/requirements.txt has."""
    try:
        return importlib.import_module(name)
    except ImportError:
        without(f"needs {name.partition('.')[0]} (./siar test installs it)")


def without(what_to_do: str) -> NoReturn:
    """End the test: it cannot run here."""
    if STRICT:
        pytest.fail(f"SIAR_TEST_STRICT is set, and a component is missing: {what_to_do}", pytrace=False)
    pytest.skip(what_to_do)


def _first_of(names: tuple[str, ...], what: str) -> Path:
    for name in names:
        if found := shutil.which(name):
            return Path(found)
    without(f"needs {what}")
