"""Counts of microseconds in buckets that are never wider than a thousandth of their value; merged without loss.

HdrHistogram's layout (Tene): every microsecond has a bucket of its own up to 2,047, and from there on each doubling
is cut into 1,024. Buckets are the same for everybody, so that adding the counts of two histograms gives exactly the
histogram of both sets of values, whoever counted them, in whatever order. Only what is there is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.core.errors import Malformed

_EXACT_BITS = 11
"""2,048 values are exact: a bucket beyond them is at most 1/1,024 of its value wide."""


def bucket_us(value_us: int) -> int:
    """The lowest value of the bucket that holds `value_us`; what is below 0 counts as 0."""
    if value_us <= 0:
        return 0
    shift = max(0, value_us.bit_length() - _EXACT_BITS)
    return value_us >> shift << shift


def bucket_width_us(bucket: int) -> int:
    """How many microseconds share the bucket."""
    return 1 << max(0, bucket.bit_length() - _EXACT_BITS)


@dataclass(slots=True)
class Histogram:
    """How often each bucket was met."""

    counts: dict[int, int] = field(default_factory=dict)
    """By the bucket's lowest value."""
    count: int = 0
    sum_us: int = 0
    max_us: int = 0

    def add(self, value_us: float) -> None:
        """Count one value, rounded to a microsecond; below 0 it counts as 0."""
        value = max(0, round(value_us))
        bucket = bucket_us(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.count += 1
        self.sum_us += value
        self.max_us = max(self.max_us, value)

    def merge(self, other: Histogram) -> None:
        """Add the counts of another one."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.count += other.count
        self.sum_us += other.sum_us
        self.max_us = max(self.max_us, other.max_us)

    def quantile_ms(self, share: float) -> float | None:
        """The middle of the bucket with the value below which `share` of all lie; `None` of nothing."""
        if self.count == 0:
            return None
        wanted, seen = share * (self.count - 1), 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen > wanted:
                return min(bucket + (bucket_width_us(bucket) - 1) / 2, self.max_us) / 1000
        return self.max_us / 1000

    @property
    def mean_ms(self) -> float | None:
        """The exact mean of what was counted; `None` of nothing."""
        return self.sum_us / self.count / 1000 if self.count else None

    def count_above(self, limit_us: int) -> int:
        """How many lie in buckets wholly above a limit."""
        return sum(count for bucket, count in self.counts.items() if bucket > limit_us)

    def to_json(self) -> dict[str, object]:
        """As plain values, buckets in order."""
        return {
            "counts": [[bucket, self.counts[bucket]] for bucket in sorted(self.counts)],
            "sum_us": self.sum_us,
            "max_us": self.max_us,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Histogram:
        """What `to_json` wrote. Raises `Malformed` for anything else."""
        pairs, sum_us, max_us = value.get("counts"), value.get("sum_us"), value.get("max_us")
        if not (isinstance(pairs, list) and isinstance(sum_us, int) and isinstance(max_us, int)):
            raise Malformed("This is not a histogram.")
        try:
            counts = {int(bucket): int(count) for bucket, count in pairs}
        except (TypeError, ValueError) as error:
            raise Malformed("A histogram's counts are pairs of whole numbers.") from error
        return cls(counts, sum(counts.values()), sum_us, max_us)


def histogram_of(values_us: Iterable[float]) -> Histogram:
    """All values counted."""
    histogram = Histogram()
    for value_us in values_us:
        histogram.add(value_us)
    return histogram


def merged(histograms: Sequence[Histogram]) -> Histogram:
    """One histogram of everything in several."""
    whole = Histogram()
    for each in histograms:
        whole.merge(each)
    return whole
