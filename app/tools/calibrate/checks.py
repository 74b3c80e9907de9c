"""From cases that were run to rows: what each of them shows of the instrument.

The bounds are what the instrument says of itself in the very trials that are judged, and nothing that was set:

    clock    the hard bound of each stamp
    delay    that, and how much later than its kernel a client stamps (p95), in either trial
    jitter   J of these latenesses, each pair's added up: what they can do to J at most. The offset cancels.
    counts   nothing: what is counted is counted

The truth is unsure itself by what the proxy's write takes, which is added to the bounds of delay and jitter.
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
from app.tools.calibrate.rig import Finished
from app.tools.calibrate.row import CheckRow

LATENESS_SHARE = 0.95
"""A median does not move by more than nearly all of its samples do."""

CLOCK_STEP_MS = 0.001
"""Stamps are whole microseconds."""


def rows(finished: Sequence[Finished]) -> list[CheckRow]:
    """All rows, in the order of the cases."""
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
    """How much longer notifications took than without being held: by the clients, and by when the proxy let them go."""
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
    """RFC 3550's J of what clients saw, beside J of what the proxy let go."""
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
    """What was taken out, sent twice and swapped, beside what the analysis counted; both clients together."""
    went = [[each.seq for each in own] for own in _by_connection(finished)]
    own = finished.metrics
    for code, true, measured in (
        ("lost", own.expected - sum(len(set(seqs)) for seqs in went), own.lost),
        ("repeated", sum(len(seqs) - len(set(seqs)) for seqs in went), own.duplicates),
        ("out_of_order", sum(map(_reordered, went)), own.out_of_order),
    ):
        yield _count(finished, Part.COUNT, code, true, measured)


def _recovery(finished: Finished) -> Iterator[CheckRow]:
    """Connections that broke cost nothing but time; each notification comes once, and how long it took is known."""
    yield _count(finished, Part.RECOVERY, "cut_lost", 0, finished.metrics.lost)
    yield _count(finished, Part.RECOVERY, "cut_twice", 0, finished.metrics.duplicates)
    broken = 0 if finished.truth.cut_us is None else finished.record.spec.clients
    yield _count(finished, Part.RECOVERY, "cut_connections", broken, finished.record.disconnects)


def _stamps(finished: Finished, code: str) -> CheckRow:
    """Every stamp's correction beside the true one: the one that is furthest off, and how many keep their bound."""
    known = [each for each in finished.record.deliveries if each.clock_offset_us is not None]
    worst = max(known, key=lambda each: abs(_offset_error_us(finished, each)), default=None)
    pretence = finished.truth.pretence
    places = {"skew_ppm": f"{pretence.skew_ppm:+g}", "ms": finished.case.channel_delay_us // 1000}
    if worst is None:
        return CheckRow(Part.CLOCK, code, finished.case.transport, "ms", 0.0, None, 0.0, places)
    # The server's stamps begin elsewhere than the clients': what is told apart is how wrong the clients' clock is.
    wrong_ms = (_read_us(worst) - finished.truth.pretence.true_us(_read_us(worst))) / 1000
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
    """A clock that jumps in mid-trial: how many delays were used that are wrong by more than their bound."""
    used = [each for each in finished.record.deliveries if each.state is SampleState.OK]
    wrong = sum(not _is_inside(finished, each) for each in used if each.clock_offset_us is not None)
    return _count(
        finished,
        Part.CLOCK,
        "step",
        0,
        wrong,
        ms=round(finished.truth.pretence.step_us / 1000),
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
    """What each connection let go, in its order, warm-up left out."""
    passages = sorted(
        (each for each in finished.truth.passages if each.seq >= WARMUP), key=lambda each: each.connection
    )
    return [list(own) for _, own in groupby(passages, key=lambda each: each.connection)]


def _true_delay_ms(finished: Finished) -> float:
    """From due to the proxy's release, as a run counts it: the median of the clients' medians."""
    due_us = {each.seq: each.due_us - finished.truth.anchor_us for each in finished.record.deliveries}
    medians = [
        median([(each.released_us - due_us[each.seq]) / 1000 for each in own])
        for own in _by_connection(finished)
    ]
    return median([value for value in medians if value is not None]) or 0.0


def _true_jitter_ms(finished: Finished) -> float:
    """J from sent to the proxy's release, by RFC 3550's formula written out once more: median of the connections."""
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
    unsure_ms = [each.unsure_us / 1000 for own in _by_connection(finished) for each in own]
    late_ms = [value for own in _lateness_ms(finished) for value in own]
    return (
        (finished.metrics.clock_bound_ms or 0.0)
        + (quantile(late_ms, LATENESS_SHARE) or 0.0)
        + (quantile(unsure_ms, LATENESS_SHARE) or 0.0)
    )


def _jitter_bound_ms(finished: Finished) -> float:
    """Of the client and the connection where it is widest."""
    late = [_jitter_of_errors(own) for own in _lateness_ms(finished)]
    unsure = [_jitter_of_errors([each.unsure_us / 1000 for each in own]) for own in _by_connection(finished)]
    return max(late, default=0.0) + max(unsure, default=0.0) + 2 * CLOCK_STEP_MS


def _jitter_of_errors(errors_ms: Sequence[float]) -> float:
    """What errors of single stamps can do to J at most: |D| is off by no more than both of its ends together."""
    jitter_ms = 0.0
    for before, after in pairwise(errors_ms):
        jitter_ms += (before + after - jitter_ms) * JITTER_GAIN
    return jitter_ms


def _lateness_ms(finished: Finished) -> list[list[float]]:
    """By client: how much later than its kernel it stamped each arrival; as late as its loop where the kernel gave none."""
    by_client: dict[int, list[float]] = {}
    for each in finished.record.deliveries:
        read_us, kernel_us = each.received_us, each.kernel_received_us
        if not each.warmup and read_us is not None:
            late_ms = finished.loop_lag_ms if kernel_us is None else (read_us - kernel_us) / 1000
            by_client.setdefault(each.client, []).append(late_ms)
    return list(by_client.values())


def _reordered(seqs: Sequence[int]) -> int:
    """RFC 4737's count of first arrivals below one that came before."""
    first = list(dict.fromkeys(seqs))
    return sum(seq < max(first[:place], default=-1) for place, seq in enumerate(first))
