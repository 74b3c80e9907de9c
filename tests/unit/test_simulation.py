"""The simulated proofs, with fewer runs than `python -m tests.tools.simulate_statistics` has and the slack of that."""

import json
from pathlib import Path

import pytest

from tests.tools import simulate_statistics

pytestmark = pytest.mark.usefixtures("stats")

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "simulated_statistics.json"


@pytest.mark.slow
def test_intervals_and_verdicts_keep_their_word() -> None:
    lines = list(simulate_statistics.simulate(runs=400, seed=1))

    assert len(lines) == 21
    assert [line for line in lines if not line.good] == []


@pytest.mark.parametrize(("blocks", "level"), [(6, 0.96875), (8, 0.9609375), (10, 0.951171875)])
def test_the_exact_level_is_that_of_the_tables(blocks: int, level: float) -> None:
    # Hollander, Wolfe and Chicken, table A.4: 1 - 2 P(T+ <= k).
    assert simulate_statistics.exact_level(blocks) == pytest.approx(level)


def test_the_recorded_proof_has_every_line_with_all_its_runs_and_none_misses() -> None:
    """`python -m tests.tools.simulate_statistics --json tests/vectors/simulated_statistics.json` made it."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))

    assert recorded["runs"] == simulate_statistics.RUNS
    assert {line["blocks"] for line in recorded["lines"]} == set(simulate_statistics.BLOCK_COUNTS)
    assert len(recorded["lines"]) == 21
    assert all(line["good"] for line in recorded["lines"])
    coverages = [line["rate"] for line in recorded["lines"] if line["what"] == "coverage"]
    assert len(coverages) == 9
    assert min(coverages) >= 0.935
