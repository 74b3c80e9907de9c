"""Components that tests need from the machine. A missing one skips the test with a sentence, or fails it in CI.

Call these in the test or in a fixture, never at import, which would cost every process: `chromium =
require_chromium()`.
"""

import importlib
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.tools import suite

STRICT = suite.strict()
"""Read at import, because the fixture in conftest.py removes SIAR_* from every test's environment."""

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def require_chromium() -> Path:
    """Return the path of a Chromium that runs headless."""
    return _first_of(CHROMIUM_NAMES, "Chromium (Debian: apt install chromium)")


def require_node() -> Path:
    """Return the path of Node.js."""
    return _first_of(("node",), "Node.js 18 or newer (Debian, Ubuntu: apt install nodejs npm)")


def require_node_modules() -> Path:
    """Return the path of tests/js/node_modules (with socket.io-client), installing it if necessary."""
    try:
        return suite.install_js_tools()
    except suite.ComponentMissing as missing:
        without(str(missing))


def require_tool(name: str, package: str) -> Path:
    """Return the path of any other program; `package`: the Debian package that has it."""
    return _first_of((name,), f"{name} (Debian, Ubuntu: apt install {package})")


def require_library(name: str) -> Any:
    """Return a module of a library from tests/requirements.txt."""
    try:
        return importlib.import_module(name)
    except ImportError:
        without(f"needs {name.partition('.')[0]} (./siar test installs it)")


def without(what_to_do: str) -> NoReturn:
    """End the test, because it cannot run here."""
    if STRICT:
        pytest.fail(f"SIAR_TEST_STRICT is set, and a component is missing: {what_to_do}", pytrace=False)
    pytest.skip(what_to_do)


def _first_of(names: tuple[str, ...], what: str) -> Path:
    for name in names:
        if found := shutil.which(name):
            return Path(found)
    without(f"needs {what}")
