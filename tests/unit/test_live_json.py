"""Written one by one, a live run's JSON has the form that it would have as a whole."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from app.lab.report.data.live_json import write_live


@pytest.mark.parametrize(
    "samples", [[], [{"id": "e.1", "device": 'a "name"\n'}], [{"id": "e.1", "bound": None}, {"id": "e.2"}]]
)
def test_the_text_is_that_of_the_whole(samples: list[dict[str, Any]]) -> None:
    file = io.StringIO()

    write_live(file, "live-1", iter(samples))

    assert file.getvalue() == json.dumps({"run": "live-1", "samples": samples}, indent=1) + "\n"
