"""What a gate is, when it holds, and what is said of one that did not."""

from __future__ import annotations

import pytest

from app.core.errors import Malformed
from app.i18n import text as said
from app.tools.load.gates import judge, parse_gate
from app.tools.load.levels import FIGURES, levels_of
from tests.unit.load_lines import a_line


@pytest.mark.parametrize(
    ("text", "name", "sign", "limit"),
    [
        ("delay_ms_p95<100", "delay_ms_p95", "<", 100.0),
        ("lost==0", "lost", "==", 0.0),
        (" errors <= 2 ", "errors", "<=", 2.0),
        ("connected_percent>=99.5", "connected_percent", ">=", 99.5),
        ("delay_ms_max>0.25", "delay_ms_max", ">", 0.25),
    ],
)
def test_a_gate_is_a_name_a_sign_and_a_number(text: str, name: str, sign: str, limit: float) -> None:
    gate = parse_gate(text)

    assert (gate.name, gate.sign, gate.limit) == (name, sign, limit)


@pytest.mark.parametrize(
    "text",
    ["", "lost", "lost=0", "lost==", "lost==zero", "lost==-1", "delay_p95<100", "lost==0;x", "lost==1e9"],
)
def test_a_typo_is_refused_with_the_list_of_names(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        parse_gate(text)

    assert all(name in str(refused.value) for name in FIGURES)


@pytest.mark.parametrize(
    "text",
    [
        "lost==0",
        "delay_ms_p95<100",
        "connected_percent>=99.5",
        "lost<=1234567",
        "delay_ms_max<1000000",
        "error_percent<0.00001",
    ],
)
def test_a_gate_is_written_as_it_was_typed(text: str) -> None:
    """A run keeps its gates as text: what stands there must be read again, at the end of the run and by `--again`."""
    assert str(parse_gate(text)) == text


def test_a_gate_means_the_kernels_lane_and_not_the_handlers() -> None:
    levels = levels_of([a_line(delays_ms=[5.0] * 20)])  # the handler's lane has 7 ms

    assert judge(parse_gate("delay_ms_p95<6"), levels).verdict == "held"
    assert judge(parse_gate("handler_delay_ms_p95<6"), levels).verdict == "missed"


def test_a_gate_must_hold_at_every_level_and_says_where_it_did_not() -> None:
    levels = levels_of(
        [
            a_line(delays_ms=[5.0] * 20),
            a_line(users=100, connected=100, delays_ms=[250.0] * 20),
            a_line(arm="socketio", transport="socketio", delays_ms=[150.0] * 20),
        ]
    )

    outcome = judge(parse_gate("delay_ms_p95<100"), levels)

    assert outcome.verdict == "missed"
    assert said(outcome.where, "en") == "SSE with 100 users"
    assert outcome.worst == pytest.approx(250, rel=1e-3)
    assert "missed at 2 of 3 levels" in said(outcome.reason, "en")


def test_a_figure_that_was_not_measured_holds_no_gate() -> None:
    levels = levels_of([a_line(is_believable=False)])

    outcome = judge(parse_gate("delay_ms_p95<100"), levels)

    assert outcome.verdict == "missed"
    assert "not measured" in said(outcome.reason, "en")


def test_what_is_lost_in_a_void_trial_is_lost() -> None:
    levels = levels_of([a_line(), a_line(is_believable=False, lost=3)])

    assert judge(parse_gate("lost==0"), levels).verdict == "missed"


def test_handshakes_that_failed_are_errors_with_a_denominator() -> None:
    (level,) = levels_of([a_line(attempts=12, failures={"Connection refused": 2}, disconnects=1)])

    assert FIGURES["errors"].of(level) == 3
    assert FIGURES["error_percent"].of(level) == pytest.approx(100 * 2 / 12)


def test_no_attempt_at_all_is_no_error_rate_of_zero() -> None:
    (level,) = levels_of([a_line(attempts=0, connect_us=())])

    assert FIGURES["error_percent"].of(level) is None
    assert FIGURES["connect_ms_p95"].of(level) is None


def test_a_gate_over_nothing_is_not_judged() -> None:
    outcome = judge(parse_gate("lost==0"), ())

    assert outcome.verdict == "not_judged"
    assert said(outcome.reason, "en") == "lost==0: not judged, because nothing was measured."


@pytest.mark.parametrize(
    ("is_valid", "is_complete", "lost", "verdict"),
    [
        (True, True, 0, "held"),
        (True, True, 1, "missed"),
        (True, False, 0, "not_judged"),
        (True, False, 1, "missed"),
        (False, True, 0, "not_judged"),
        (False, True, 1, "not_judged"),
    ],
)
def test_a_part_of_a_run_can_miss_a_gate_and_not_hold_it_and_an_invalid_generator_can_neither(
    is_valid: bool, is_complete: bool, lost: int, verdict: str
) -> None:
    levels = levels_of([a_line(lost=lost)])

    outcome = judge(parse_gate("lost==0"), levels, is_valid=is_valid, is_complete=is_complete)

    assert outcome.verdict == verdict
    assert said(outcome.reason, "en").startswith("lost==0: not judged (") == (verdict == "not_judged")
