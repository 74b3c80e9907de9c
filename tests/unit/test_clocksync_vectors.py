"""V6 of `measurement.md`: Python gives the doubles of the shared vectors; `tests/js` holds JavaScript to the same."""

from __future__ import annotations

import json

from tests.vectors import make_clocksync


def test_python_gives_the_readings_of_the_vectors_to_the_last_bit() -> None:
    """Fails, too, when the vectors were not made again after a change of the algorithm or the simulation."""
    stored = json.loads(make_clocksync.VECTORS.read_text(encoding="ascii"))

    computed = make_clocksync.document()

    assert computed["format"] == stored["format"]
    for mine, theirs in zip(computed["cases"], stored["cases"], strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in theirs.items():
            assert mine[key] == value, f"{theirs['name']}: {key}"


def test_the_vectors_show_every_state_and_every_answer() -> None:
    cases = json.loads(make_clocksync.VECTORS.read_text(encoding="ascii"))["cases"]

    states = {reading[2] for case in cases for reading in case["readings"]}
    answers = {answer for case in cases for answer in case["added"]}

    assert states == {"ok", "no_clock", "wide_u", "epoch_break"}
    assert answers == {"accepted", "rejected", "break"}
    assert {len(case["segments"]) for case in cases} >= {1, 2, 3}
