"""The simulated proofs, with fewer runs than `python -m tests.simulate_statistics` has and the slack of that."""

import pytest

from tests.components import without

try:
    from tests import simulate_statistics
except ImportError:
    without("scipy: ./siar test installs it")


@pytest.mark.slow
def test_intervals_and_verdicts_keep_their_word() -> None:
    lines = list(simulate_statistics.simulate(runs=400, seed=1))

    assert len(lines) == 21
    assert [line for line in lines if not line.good] == []


@pytest.mark.parametrize(("blocks", "level"), [(6, 0.96875), (8, 0.9609375), (10, 0.951171875)])
def test_the_exact_level_is_that_of_the_tables(blocks: int, level: float) -> None:
    # Hollander, Wolfe and Chicken, table A.4: 1 - 2 P(T+ <= k).
    assert simulate_statistics.exact_level(blocks) == pytest.approx(level)
