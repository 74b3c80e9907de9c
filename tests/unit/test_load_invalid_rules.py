"""Each rule voids beyond its limit and not at it, and says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.trial import Severity, TrialWarning
from app.i18n import text
from app.lab.analysis.validity.trial_warnings import advice, seen, texts
from app.tools.load.cpu_isolation import Sharing
from app.tools.load.generators import Gathered, Handshakes
from app.tools.load.invalid_rules import GENERATOR_CODES, is_believable, rules
from app.tools.load.watch import Observations

GOOD_HANDSHAKES = Handshakes(1000, 1000, 1000, {}, (500,) * 1000)
GOOD = Gathered((), GOOD_HANDSHAKES, lag_ms_p99=2.0, cpu_s=0.5, disconnects=0, malformed=0)
QUIET = Observations(cpu_share_max=0.2, cpu_s=0.5, steal_share=0.0, receive_troubles={})


def found(gathered: Gathered = GOOD, seen: Observations = QUIET, **changes: Any) -> list[TrialWarning]:
    values = {"arrivals": 20_000, "without_stamp": 0, "shared": 0, "sharing": Sharing.NEVER, **changes}
    return rules(gathered, seen, **values)


def with_handshakes(connected: int, **failures: int) -> Gathered:
    told = Handshakes(1000, connected, 1000 + sum(failures.values()), failures, ())
    return Gathered((), told, 2.0, 0.5, 0, 0)


def test_a_good_generator_voids_nothing() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("at_the_limit", "beyond", "code"),
    [
        ({"gathered": with_handshakes(995)}, {"gathered": with_handshakes(994)}, "users_missing"),
        ({"without_stamp": 200}, {"without_stamp": 201}, "stamps_missing"),
        ({"seen": Observations(0.70, 1, 0, {})}, {"seen": Observations(0.71, 1, 0, {})}, "generator_busy"),
        (
            {"gathered": Gathered((), GOOD_HANDSHAKES, 50.0, 1, 0, 0)},
            {"gathered": Gathered((), GOOD_HANDSHAKES, 50.1, 1, 0, 0)},
            "generator_late",
        ),
        ({"seen": Observations(0.1, 1, 0.01, {})}, {"seen": Observations(0.1, 1, 0.011, {})}, "stolen"),
        ({}, {"seen": Observations(0.1, 1, 0, {"ListenDrops": 1})}, "receive_overflow"),
        ({}, {"sharing": Sharing.MUST}, "shared_core"),
        ({}, {"gathered": Gathered((), GOOD_HANDSHAKES, 1.0, 1, 0, malformed=1)}, "broken_stream"),
    ],
)
def test_a_rule_voids_beyond_its_limit(
    at_the_limit: dict[str, Any], beyond: dict[str, Any], code: str
) -> None:
    assert found(**at_the_limit) == []

    (warning,) = found(**beyond)

    assert (warning.code, warning.severity) == (code, Severity.VOID)
    assert code in GENERATOR_CODES
    assert texts(warning)["advice"]


def test_missing_users_are_told_with_their_reasons_and_attempts() -> None:
    (warning,) = found(with_handshakes(900, refused=100))

    assert "900 of 1000" in texts(warning)["text"]
    assert "1100 attempts" in texts(warning)["text"]
    assert "100 x refused" in texts(warning)["text"]


@pytest.mark.parametrize(
    ("code", "believable"),
    [("source_late", True), ("disconnected", True), ("generator_busy", False), ("clock_wide", False)],
)
def test_what_the_server_does_badly_excuses_no_gate(code: str, believable: bool) -> None:
    warning = TrialWarning(code, Severity.VOID)

    assert is_believable([warning]) is believable


def test_a_core_that_may_be_shared_is_told_and_voids_nothing() -> None:
    (warning,) = found(sharing=Sharing.MAY)

    assert warning.severity is Severity.NOTE
    assert warning.code not in GENERATOR_CODES
    assert is_believable([warning])


def test_processes_that_fill_their_cores_together_are_not_advised_to_become_more() -> None:
    (alone,) = found(seen=Observations(0.9, 1, 0, {}))
    (together,) = found(seen=Observations(0.9, 1, 0, {}, is_crowded=True))

    assert "--processes" in texts(alone)["advice"]
    assert together.code == "generator_busy"
    assert "--processes" not in texts(together)["advice"]


def test_what_is_said_of_cores_is_said_in_indonesian_too() -> None:
    said = [*found(sharing=Sharing.MAY), *found(seen=Observations(0.9, 1, 0, {}, is_crowded=True))]

    assert all(text(part(each), "id") != text(part(each), "en") for each in said for part in (seen, advice))
