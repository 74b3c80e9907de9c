"""Histogram of microseconds in buckets of at most a thousandth of their value; histograms merge without loss.

The layout is HdrHistogram's (Tene): every microsecond up to 2,047 has its own bucket, and from there on each doubling
is divided into 1,024. Bucket limits are fixed. Therefore the sum of two histograms' counts is exactly the histogram of
both sets of values, in any order. Only non-empty buckets are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.core.errors import Malformed

_EXACT_BITS = 11
"""The lowest 2,048 values are exact; a bucket above them is at most 1/1,024 of its value wide."""


def bucket_us(value_us: int) -> int:
    """Return the lowest value of the bucket that contains `value_us`; values below 0 count as 0."""
    if value_us <= 0:
        return 0
    shift = max(0, value_us.bit_length() - _EXACT_BITS)
    return value_us >> shift << shift


def bucket_width_us(bucket: int) -> int:
    """Return the width of a bucket, microseconds."""
    return 1 << max(0, bucket.bit_length() - _EXACT_BITS)


@dataclass(slots=True)
class Histogram:
    """Number of values in each bucket, with their exact sum and maximum."""

    counts: dict[int, int] = field(default_factory=dict)
    """Counts by the bucket's lowest value."""
    count: int = 0
    sum_us: int = 0
    max_us: int = 0

    def add(self, value_us: float) -> None:
        """Count one value, rounded to a microsecond; a value below 0 counts as 0."""
        value = max(0, round(value_us))
        bucket = bucket_us(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.count += 1
        self.sum_us += value
        self.max_us = max(self.max_us, value)

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.count += other.count
        self.sum_us += other.sum_us
        self.max_us = max(self.max_us, other.max_us)

    def quantile_ms(self, share: float) -> float | None:
        """Return the quantile `share` (0 to 1) as the middle of its bucket, in ms; `None` for an empty histogram."""
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
        """Exact mean of the counted values, in ms; `None` for an empty histogram."""
        return self.sum_us / self.count / 1000 if self.count else None

    def count_above(self, limit_us: int) -> int:
        """Return the number of values in buckets that lie wholly above a limit."""
        return sum(count for bucket, count in self.counts.items() if bucket > limit_us)

    def to_json(self) -> dict[str, object]:
        """Encode as plain JSON values, buckets in ascending order."""
        return {
            "counts": [[bucket, self.counts[bucket]] for bucket in sorted(self.counts)],
            "sum_us": self.sum_us,
            "max_us": self.max_us,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Histogram:
        """Decode what `to_json` returned. Raises `Malformed` for anything else."""
        pairs, sum_us, max_us = value.get("counts"), value.get("sum_us"), value.get("max_us")
        if not (isinstance(pairs, list) and isinstance(sum_us, int) and isinstance(max_us, int)):
            raise Malformed("This is not a histogram.")
        try:
            counts = {int(bucket): int(count) for bucket, count in pairs}
        except (TypeError, ValueError) as error:
            raise Malformed("A histogram's counts are pairs of whole numbers.") from error
        return cls(counts, sum(counts.values()), sum_us, max_us)


def histogram_of(values_us: Iterable[float]) -> Histogram:
    """Count all values in a new histogram."""
    histogram = Histogram()
    for value_us in values_us:
        histogram.add(value_us)
    return histogram


def merged(histograms: Sequence[Histogram]) -> Histogram:
    """Merge several histograms into a new one."""
    whole = Histogram()
    for each in histograms:
        whole.merge(each)
    return whole
