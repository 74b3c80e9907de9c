"""Proof by simulation that intervals and verdicts keep their error rates: `python -m tests.tools.simulate_statistics`.

Runs are simulated with the structure of the measurement: days differ (block), trials differ (trial), clients differ,
and a client's delays are skewed (lognormal) samples around its trial's level. The project's own functions then get what
they get from a real run: a client's median, the trial's median of clients' medians, block differences. NumPy generates
the data, but analyses nothing.

    coverage     how often the 95 % interval holds the true pseudo-median of the block differences
    A/A          how often `compare` names a winner where there is none, in its family of three counts of clients
    equivalence  how often the 90 % interval lies inside a margin at whose edge the truth is: at most 5 %
    power        how often a difference, or equivalence, of a given size is found

    --runs N     simulated runs for each line (default 10,000: six minutes on one core)
    --seed N     of the random numbers (default 20260101)
    --json PATH  the figures as JSON

The true pseudo-median is computed from 400,000 random pairs of simulated block differences, independently of our code:
it is the median of their averages. Exit code 1 when a line misses its limit.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.core.plan.scenario import Plan, arms_from_names
from app.lab.analysis.comparison.compare_arms import Block, Verdict, compare
from app.lab.analysis.statistics.signed_rank import signed_rank_interval

Numbers = Any
"""A NumPy array."""


def scipy_stats() -> Any:
    """Import scipy's distributions on demand; the import takes a second, which collecting tests should not cost."""
    return importlib.import_module("scipy.stats")


RUNS = 10_000
"""Number of runs of the full proof."""

BLOCK_COUNTS = (8, 12, 20)
CLIENTS = 3
SAMPLES = 20
TRUTH_DRAWS = 400_000
"""Number of pairs."""

NOMINAL_SHORTFALL_MAX = 0.015
"""Limit for coverage: nominal level less 1.5 points."""

FALSE_POSITIVES_MAX = 0.05
SURE = 0.99
"""One-sided: a rate counts as above its limit only if chance would cause that in at most 1 % of cases."""


@dataclass(frozen=True, slots=True)
class World:
    """Distribution of delays; spreads are standard deviations of logarithms."""

    name: str
    trial: float
    """Spread between trials, which clusters the samples."""
    trial_skew: float = 0.0
    """Mean of an exponential one-sided disturbance, which is added to trials."""
    block: float = 0.3
    client: float = 0.1
    sample: float = 0.5
    ratio_b: float = 1.0
    """Ratio of b to a."""
    b_trial: float | None = None
    """Spread between b's trials if it differs; then differences are skewed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A simulated rate with its limit."""

    what: str
    world: str
    blocks: int
    runs: int
    rate: float
    limit: str
    good: bool


ALIKE = World("samples skewed, trials clustered by 15 %", trial=0.15)
SKEWED = World("trials skewed too, arms unlike (5 % and 25 %)", trial=0.05, b_trial=0.25, ratio_b=1.2)
BURSTS = World("trials disturbed on one side (exponential, 20 %)", trial=0.05, trial_skew=0.2, ratio_b=1.2)
COVERAGE_WORLDS = (ALIKE, SKEWED, BURSTS)


def trial_medians(rng: np.random.Generator, world: World, runs: int, blocks: int) -> tuple[Numbers, Numbers]:
    """Return the trial medians of a and b, each (runs, blocks), in ms."""
    level = np.exp(rng.normal(0, world.block, (runs, blocks)))
    return (
        _arm(rng, world, level, world.trial),
        world.ratio_b * _arm(rng, world, level, world.trial if world.b_trial is None else world.b_trial),
    )


def _arm(rng: np.random.Generator, world: World, level: Numbers, spread: float) -> Numbers:
    trial = level * np.exp(rng.normal(0, spread, level.shape))
    if world.trial_skew:
        trial = trial * (1 + rng.exponential(world.trial_skew, level.shape))
    medians = []
    for client in range(CLIENTS):
        own = trial * np.exp(world.client * (client - 1))
        samples = np.exp(rng.normal(0, world.sample, (*level.shape, SAMPLES)))
        medians.append(own * np.median(samples, axis=-1))
    return np.median(medians, axis=0)


def differences(rng: np.random.Generator, world: World, runs: int, blocks: int) -> Numbers:
    """Return block differences b - a, (runs, blocks)."""
    a, b = trial_medians(rng, world, runs, blocks)
    return b - a


def true_pseudo_median(rng: np.random.Generator, world: World) -> float:
    """Return the median of (D + D') / 2 of independent differences, from many draws."""
    first, second = (
        np.concatenate([differences(rng, world, 20_000, 1)[:, 0] for _ in range(TRUTH_DRAWS // 20_000)])
        for _ in range(2)
    )
    return float(np.median((first + second) / 2))


def coverage(rng: np.random.Generator, runs: int) -> Iterator[Line]:
    """Yield the coverage of the 95 % interval, for each number of blocks and each world."""
    for world in COVERAGE_WORLDS:
        truth = true_pseudo_median(rng, world)
        for blocks in BLOCK_COUNTS:
            held = 0
            for drawn in _chunks(rng, world, runs, blocks):
                for own in drawn:
                    interval = signed_rank_interval(own.tolist(), 0.95)
                    assert interval.low is not None
                    assert interval.high is not None
                    held += interval.low <= truth <= interval.high
            limit = 0.95 - NOMINAL_SHORTFALL_MAX
            # With fewer runs than the full proof, chance alone may go below the limit.
            enough = limit * runs if runs >= RUNS else scipy_stats().binom.ppf(1 - SURE, runs, limit)
            exact = exact_level(blocks)
            yield Line(
                "coverage",
                world.name,
                blocks,
                runs,
                held / runs,
                f">= {limit:.3f} (exact level {exact:.4f})",
                held >= enough,
            )


def exact_level(blocks: int, level: float = 0.95) -> float:
    """Return the interval's exact level on symmetric differences: all sign patterns, counted without our code."""
    ranks = np.arange(1, blocks + 1)
    ways = np.array([1.0])
    for rank in ranks:
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways
        longer[rank:] += ways
        ways = longer
    below = np.cumsum(ways) / 2.0**blocks
    return float(1 - 2 * below[below <= (1 - level) / 2 + 1e-12][-1])


def false_positives(rng: np.random.Generator, runs: int) -> Iterator[Line]:
    """Yield the rate of winners of `compare` with equal arms; a winner at any of three counts of clients counts."""
    for blocks in BLOCK_COUNTS:
        wrong = sum(
            any(each in (Verdict.LOWER_A, Verdict.LOWER_B) for each in found)
            for found in _verdicts(rng, ALIKE, runs, blocks)
        )
        allowed = int(scipy_stats().binom.ppf(SURE, runs, FALSE_POSITIVES_MAX))
        yield Line(
            "A/A with a winner",
            ALIKE.name,
            blocks,
            runs,
            wrong / runs,
            f"<= 5 % (binomial 99 %: {allowed / runs:.4f})",
            wrong <= allowed,
        )


def equivalence(rng: np.random.Generator, runs: int) -> Iterator[Line]:
    """Yield the rate of false equivalence at the margin's edge, and of correct equivalence without a difference."""
    margin = 0.20
    edge = World("difference at the margin (20 %)", trial=0.05, block=0.0, ratio_b=1 + margin)
    same = World("no difference, margin 20 %", trial=0.05, block=0.0)
    # Levels are around 1, so that a margin in ms is the same as a relative one; the edge is at the true value.
    truth = abs(true_pseudo_median(rng, edge))
    for blocks in BLOCK_COUNTS:
        wrong = _within(rng, edge, runs, blocks, truth)
        allowed = int(scipy_stats().binom.ppf(SURE, runs, FALSE_POSITIVES_MAX))
        yield Line(
            "equivalent at the margin's edge",
            edge.name,
            blocks,
            runs,
            wrong / runs,
            f"<= 5 % (binomial 99 %: {allowed / runs:.4f})",
            wrong <= allowed,
        )
    for blocks in BLOCK_COUNTS:
        right = _within(rng, same, runs, blocks, margin)
        expected = _tost_power(rng, same, blocks, margin)
        yield Line(
            "equivalent where equal",
            same.name,
            blocks,
            runs,
            right / runs,
            f">= {0.90 * expected:.3f} (90 % of the t test's {expected:.3f})",
            right / runs >= 0.90 * expected,
        )


def power(rng: np.random.Generator, runs: int) -> Iterator[Line]:
    """Yield the power of the unadjusted 95 % interval for a difference of 1.5 standard deviations."""
    world = World("b slower by 1.5 sd of the differences", trial=0.05, block=0.0)
    drawn = differences(rng, world, 20_000, 1)[:, 0]
    shift = 1.5 * float(np.std(drawn))
    for blocks in BLOCK_COUNTS:
        found = 0
        for chunk in _chunks(rng, world, runs, blocks):
            found += sum(signed_rank_interval((own + shift).tolist(), 0.95).excludes(0.0) for own in chunk)
        df, limit = blocks - 1, scipy_stats().t.ppf(0.975, blocks - 1)
        expected = float(scipy_stats().nct.sf(limit, df, 1.5 * np.sqrt(blocks)))
        yield Line(
            "difference found",
            world.name,
            blocks,
            runs,
            found / runs,
            f">= {0.90 * expected:.3f} (90 % of the t test's {expected:.3f})",
            found / runs >= 0.90 * expected,
        )


CHECKS: tuple[Callable[[np.random.Generator, int], Iterator[Line]], ...] = (
    coverage,
    false_positives,
    equivalence,
    power,
)


def simulate(runs: int, seed: int) -> Iterator[Line]:
    """Yield every line when it is ready; each check has its own random numbers."""
    for number, check in enumerate(CHECKS):
        yield from check(np.random.default_rng([seed, number]), runs)


def _chunks(rng: np.random.Generator, world: World, runs: int, blocks: int) -> Iterator[Numbers]:
    """Yield all runs in chunks of a thousand, because all at once would take gigabytes."""
    for start in range(0, runs, 1000):
        yield differences(rng, world, min(1000, runs - start), blocks)


def _within(rng: np.random.Generator, world: World, runs: int, blocks: int, margin: float) -> int:
    return sum(
        signed_rank_interval(own.tolist(), 0.90).is_within(margin)
        for chunk in _chunks(rng, world, runs, blocks)
        for own in chunk
    )


def _tost_power(rng: np.random.Generator, world: World, blocks: int, margin: float) -> float:
    """Return the rate at which two one-sided t tests pass on 2,000 further runs."""
    drawn = differences(rng, world, 2000, blocks)
    reach = scipy_stats().t.ppf(0.95, blocks - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(blocks)
    return float(np.mean(np.abs(drawn.mean(axis=1)) + reach <= margin))


def _verdicts(rng: np.random.Generator, world: World, runs: int, blocks: int) -> Iterator[list[Verdict]]:
    """Yield the confirmatory verdicts of runs with three counts of clients, by the program's own `compare`."""
    counts = (1, 3, 6)
    plan = Plan(
        arms=arms_from_names(["sse", "sse"]),
        client_counts=counts,
        blocks=blocks,
        notifications=SAMPLES,
        warmup_notifications=0,
        rate_hz=20.0,
        payload_bytes=256,
        seed=1,
    )
    for start in range(0, runs, 1000):
        size = min(1000, runs - start)
        drawn = {count: trial_medians(rng, world, size, blocks) for count in counts}
        for run in range(size):
            found = compare(
                plan,
                [
                    _block(count, each, a[run, each], b[run, each])
                    for count, (a, b) in drawn.items()
                    for each in range(blocks)
                ],
            )
            yield [each.verdict for each in found if each.family == "confirmatory"]


def _block(clients: int, number: int, a: float, b: float) -> Block:
    nothing = {"cpu_per_delivery_us": None, "jitter_ms": None}
    values = {"sse.1": {"delay_ms_p50": float(a), **nothing}, "sse.2": {"delay_ms_p50": float(b), **nothing}}
    return Block(number, clients, valid=True, values=values, clock_bound_ms=None)


def main(arguments: list[str]) -> int:
    """Print every line when it is ready; return 0 when all are good."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.simulate_statistics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--json", type=Path)
    parsed = parser.parse_args(arguments)
    lines = []
    for line in simulate(parsed.runs, parsed.seed):
        lines.append(line)
        print(
            f"{'ok  ' if line.good else 'MISS'} {line.what:<32} {line.blocks:>3} blocks  {100 * line.rate:6.2f} %  {line.limit}; {line.world}",
            flush=True,
        )
    if parsed.json:
        found = {"runs": parsed.runs, "seed": parsed.seed, "lines": [asdict(line) for line in lines]}
        parsed.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if all(line.good for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
