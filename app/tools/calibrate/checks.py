"""Comparison of what was injected with what was measured: from finished cases to rows of the result.

The bounds are errors that the instrument itself states in the trials being judged; none is a preset:

    clock    the hard bound of each stamp
    delay    that bound, plus the p95 of a client's stamp after its kernel's, in either trial
    jitter   J of these lateness values, adding up each pair: the most that they can change J. The offset cancels out.
    counts   none: counts are exact

The truth itself is uncertain by the duration of the proxy's write, which is added to the bounds of delay and jitter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import ceil

from app.core.delivery import Delivery, SampleState
from app.lab.analysis.metrics.trial_metrics import JITTER_GAIN
from app.lab.analysis.statistics.quantile import median, quantile
from app.tools.calibrate.case import WARMUP, Part
from app.tools.calibrate.proxy import Passage
from app.tools.calibrate.result import CheckRow
from app.tools.calibrate.rig import Finished

LATENESS_SHARE = 0.95
"""A median moves by no more than nearly all of its samples do."""

CLOCK_STEP_MS = 0.001
"""Resolution of stamps: whole microseconds."""


def rows(finished: Sequence[Finished]) -> list[CheckRow]:
    """Return all rows, in the order of the cases."""
    near = {each.case.transport: each for each in finished if each.case.code == "near"}
    found: list[CheckRow] = []
    for each in finished:
        if each.case.part is Part.DELAY:
            base = near[each.case.transport]
            found += [_stamps(each, "true_clock")] if each is base else [_delay(each, base)]
        elif each.case.part is Part.JITTER:
            found.append(_jitter(each))
        elif each.case.part is Part.COUNT:
            found += _counts(each)
        elif each.case.part is Part.RECOVERY:
            found += _recovery(each)
        else:
            found.append(_stepped(each) if each.case.step_in_trial else _stamps(each, each.case.code))
    return found


def _delay(far: Finished, near: Finished) -> CheckRow:
    """Compare the added delay measured by the clients with the proxy's record of releasing each notification."""
    far_ms, near_ms = far.metrics.delay_ms.p50, near.metrics.delay_ms.p50
    return CheckRow(
        part=Part.DELAY,
        code="held",
        transport=far.case.transport,
        unit="ms",
        true=_true_delay_ms(far) - _true_delay_ms(near),
        measured=None if far_ms is None or near_ms is None else far_ms - near_ms,
        bound=sum(_delay_bound_ms(each) for each in (far, near)),
        places={"ms": far.case.impairment.delay_us // 1000},
    )


def _jitter(finished: Finished) -> CheckRow:
    """Compare RFC 3550's J of what clients saw with J of what the proxy released."""
    return CheckRow(
        part=Part.JITTER,
        code="jitter",
        transport=finished.case.transport,
        unit="ms",
        true=_true_jitter_ms(finished),
        measured=finished.metrics.jitter_ms,
        bound=_jitter_bound_ms(finished),
        places={"ms": ceil(max(finished.case.impairment.delays_us) / 1000)},
    )


def _counts(finished: Finished) -> Iterator[CheckRow]:
    """Compare the numbers of dropped, repeated and swapped notifications with the analysis's counts."""
    went = [[each.seq for each in own] for own in _by_connection(finished)]
    own = finished.metrics
    for code, true, measured in (
        ("lost", own.expected - sum(len(set(seqs)) for seqs in went), own.lost),
        ("repeated", sum(len(seqs) - len(set(seqs)) for seqs in went), own.duplicates),
        ("out_of_order", sum(map(_reordered, went)), own.out_of_order),
    ):
        yield _count(finished, Part.COUNT, code, true, measured)


def _recovery(finished: Finished) -> Iterator[CheckRow]:
    """Check that broken connections cost only time: nothing is lost, nothing comes twice, every break is counted."""
    yield _count(finished, Part.RECOVERY, "cut_lost", 0, finished.metrics.lost)
    yield _count(finished, Part.RECOVERY, "cut_twice", 0, finished.metrics.duplicates)
    broken = 0 if finished.truth.cut_us is None else finished.record.spec.clients
    yield _count(finished, Part.RECOVERY, "cut_connections", broken, finished.record.disconnects)


def _stamps(finished: Finished, code: str) -> CheckRow:
    """Compare every stamp's correction with the true one: largest error, number of errors within bounds."""
    known = [each for each in finished.record.deliveries if each.clock_offset_us is not None]
    worst = max(known, key=lambda each: abs(_offset_error_us(finished, each)), default=None)
    client_clock = finished.truth.client_clock
    places = {"skew_ppm": f"{client_clock.skew_ppm:+g}", "ms": finished.case.channel_delay_us // 1000}
    if worst is None:
        return CheckRow(Part.CLOCK, code, finished.case.transport, "ms", 0.0, None, 0.0, places)
    # The origins of server's and clients' stamps differ by a constant, so the compared value is the error of the
    # clients' clock.
    wrong_ms = (_read_us(worst) - finished.truth.client_clock.true_us(_read_us(worst))) / 1000
    return CheckRow(
        part=Part.CLOCK,
        code=code,
        transport=finished.case.transport,
        unit="ms",
        true=wrong_ms,
        measured=wrong_ms - _offset_error_us(finished, worst) / 1000,
        bound=max(_bound_us(each) for each in known) / 1000,
        places=places,
        inside=(sum(_is_inside(finished, each) for each in known), len(known)),
    )


def _stepped(finished: Finished) -> CheckRow:
    """Count the delays of a trial with a clock step that were used although they are wrong by more than their bound."""
    used = [each for each in finished.record.deliveries if each.state is SampleState.OK]
    wrong = sum(not _is_inside(finished, each) for each in used if each.clock_offset_us is not None)
    return _count(
        finished,
        Part.CLOCK,
        "step",
        0,
        wrong,
        ms=round(finished.truth.client_clock.step_us / 1000),
        used=len(used),
    )


def _count(finished: Finished, part: Part, code: str, true: int, measured: int, **places: object) -> CheckRow:
    return CheckRow(part, code, finished.case.transport, "notifications", true, measured, 0.0, places)


def _offset_error_us(finished: Finished, delivery: Delivery) -> float:
    assert delivery.clock_offset_us is not None
    return delivery.clock_offset_us - finished.truth.offset_us(_read_us(delivery))


def _is_inside(finished: Finished, delivery: Delivery) -> bool:
    return abs(_offset_error_us(finished, delivery)) <= _bound_us(delivery)


def _bound_us(delivery: Delivery) -> float:
    assert delivery.clock_bound_us is not None, "an offset has its bound with it"
    return delivery.clock_bound_us


def _read_us(delivery: Delivery) -> float:
    assert delivery.received_client_us is not None, "what has an offset has arrived"
    return delivery.received_client_us


def _by_connection(finished: Finished) -> list[list[Passage]]:
    """Return what each connection released, in its order, without the warm-up."""
    passages = sorted(
        (each for each in finished.truth.passages if each.seq >= WARMUP), key=lambda each: each.connection
    )
    return [list(own) for _, own in groupby(passages, key=lambda each: each.connection)]


def _true_delay_ms(finished: Finished) -> float:
    """Return the delay from due time to the proxy's release, as in a run: the median of the clients' medians."""
    due_us = {each.seq: each.due_us - finished.truth.anchor_us for each in finished.record.deliveries}
    medians = [
        median([(each.released_us - due_us[each.seq]) / 1000 for each in own])
        for own in _by_connection(finished)
    ]
    return median([value for value in medians if value is not None]) or 0.0


def _true_jitter_ms(finished: Finished) -> float:
    """Return J from send to the proxy's release, by a copy of RFC 3550's formula: median of the connections."""
    sent_us = {
        each.seq: each.sent_us - finished.truth.anchor_us
        for each in finished.record.deliveries
        if each.sent_us
    }
    finals = []
    for own in _by_connection(finished):
        jitter_us = 0.0
        for before, after in pairwise(each.released_us - sent_us[each.seq] for each in own):
            jitter_us += (abs(after - before) - jitter_us) * JITTER_GAIN
        finals.append(jitter_us / 1000)
    return median(finals) or 0.0


def _delay_bound_ms(finished: Finished) -> float:
    uncertainty_ms = [each.uncertainty_us / 1000 for own in _by_connection(finished) for each in own]
    late_ms = [value for own in _lateness_ms(finished) for value in own]
    return (
        (finished.metrics.clock_bound_ms or 0.0)
        + (quantile(late_ms, LATENESS_SHARE) or 0.0)
        + (quantile(uncertainty_ms, LATENESS_SHARE) or 0.0)
    )


def _jitter_bound_ms(finished: Finished) -> float:
    """Return the largest bound of any client plus the largest of any connection."""
    late = [_jitter_of_errors(own) for own in _lateness_ms(finished)]
    uncertainty = [
        _jitter_of_errors([each.uncertainty_us / 1000 for each in own]) for own in _by_connection(finished)
    ]
    return max(late, default=0.0) + max(uncertainty, default=0.0) + 2 * CLOCK_STEP_MS


def _jitter_of_errors(errors_ms: Sequence[float]) -> float:
    """Return the most that errors of stamps can change J: |D| is wrong by at most the sum of both stamps' errors."""
    jitter_ms = 0.0
    for before, after in pairwise(errors_ms):
        jitter_ms += (before + after - jitter_ms) * JITTER_GAIN
    return jitter_ms


def _lateness_ms(finished: Finished) -> list[list[float]]:
    """Return how much later than its kernel each client stamped; its loop's lag if the kernel gave no stamp."""
    by_client: dict[int, list[float]] = {}
    for each in finished.record.deliveries:
        read_us, kernel_us = each.received_us, each.kernel_received_us
        if not each.warmup and read_us is not None:
            late_ms = finished.loop_lag_ms if kernel_us is None else (read_us - kernel_us) / 1000
            by_client.setdefault(each.client, []).append(late_ms)
    return list(by_client.values())


def _reordered(seqs: Sequence[int]) -> int:
    """Count the first arrivals with a number below an earlier one's (RFC 4737, reordered packets)."""
    first = list(dict.fromkeys(seqs))
    return sum(seq < max(first[:place], default=-1) for place, seq in enumerate(first))
