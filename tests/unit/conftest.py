"""Libraries that tests of this folder measure ours by: they take a second to import, and each process collects all files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.components import require_library
from tests.support.marked import teach


@pytest.fixture(scope="session")
def stats() -> Any:
    """scipy's statistics."""
    return require_library("scipy.stats")


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> str:
    """The language of marks (`tests.support.marked`)."""
    return teach(monkeypatch)
