"""Headline of a run: the list of its rules, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.delivery import Outcome
from app.core.plan.scenario import Arm
from app.core.trial import TrialRecord
from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import analyse
from app.lab.analysis.headline import cause_clause, headline
from app.lab.analysis.validity.trial_warnings import void
from app.lab.report.data.headline import headline_json, verdict_json
from app.paths import ROOT
from tests.unit.support_run import RunMaker, a_plan

Alter = Callable[[TrialRecord], TrialRecord]


def slower(by_ms: dict[int, float]) -> Callable[[Arm, int, int], float]:
    """Return delays of 1 ms with SSE, and of so many more at each count of clients with the other arm."""
    return lambda arm, clients, client: 1.0 + (0.0 if arm.name == "sse" else by_ms[clients])


def everywhere(by_ms: float) -> Callable[[Arm, int, int], float]:
    return slower(dict.fromkeys((1, 3, 6), by_ms))


def disturbed(*, only_clients: int | None = None) -> Alter:
    """Return a change that makes trials invalid, of one count of clients or all."""

    def alter(record: TrialRecord) -> TrialRecord:
        if only_clients not in (None, record.spec.clients):
            return record
        return replace(record, warnings=(void("operator_published"),))

    return alter


def losing(*, arm: str, also: Alter = lambda record: record) -> Alter:
    """Return a change by which an arm loses the last delivery of each trial."""

    def alter(record: TrialRecord) -> TrialRecord:
        if record.spec.idle or record.spec.arm.name != arm:
            return also(record)
        *rows, last = record.deliveries
        gone = replace(
            last, received_client_us=None, clock_offset_us=None, clock_bound_us=None, outcome=Outcome.LOST
        )
        return also(replace(record, deliveries=(*rows, gone)))

    return alter


def doubling(record: TrialRecord) -> TrialRecord:
    """Deliver the last notification of each SSE trial twice."""
    if record.spec.idle or record.spec.arm.name != "sse":
        return record
    again = replace(record.deliveries[-1], outcome=Outcome.DUPLICATE)
    return replace(record, deliveries=(*record.deliveries, again))


THREE = ("sse", "socketio", "sse")

CASES = {
    "one arm loses": (
        RunMaker(delay_ms=everywhere(0.5), alter=losing(arm="socketio")),
        {},
        "losses",
        "Socket.IO lost 24 of 1,600.",
        "Socket.IO kehilangan 24 dari 1.600.",
    ),
    "something is delivered twice": (
        RunMaker(alter=doubling),
        {},
        "losses",
        "SSE delivered 24 of 1,600 twice.",
        "SSE mengirim 24 dari 1.600 dua kali.",
    ),
    "a loss is said before the early end": (
        RunMaker(alter=losing(arm="sse")),
        {"complete": False, "blocks_done": 2},
        "losses",
        "SSE lost 6 of 400.",
        "SSE kehilangan 6 dari 400.",
    ),
    "losses of invalid rounds do not count": (
        RunMaker(alter=losing(arm="sse", also=disturbed())),
        {},
        "invalid",
        "No result: somebody published other notifications in 48 of 48 rounds.",
        "Tanpa hasil: ada yang menerbitkan notifikasi lain dalam 48 dari 48 putaran.",
    ),
    "stopped early": (
        RunMaker(),
        {"complete": False, "blocks_done": 2},
        "stopped",
        "Stopped after 2 of 8 repetitions (12 of 48 rounds): no result.",
        "Dihentikan setelah 2 dari 8 ulangan (12 dari 48 putaran): tanpa hasil.",
    ),
    "stopped after it was decided": (
        RunMaker(plan=a_plan(blocks=10), delay_ms=everywhere(0.6)),
        {"complete": False, "blocks_done": 9},
        "stopped",
        "Stopped after 9 of 10 repetitions (54 of 60 rounds). Until then: SSE is faster: 1.05 against 1.71 ms with 6 clients "
        "(by 0.56 to 0.75 ms, 95 % confidence).",
        "Dihentikan setelah 9 dari 10 ulangan (54 dari 60 putaran). Sampai saat itu: SSE lebih cepat: 1,05 dibandingkan dengan "
        "1,71 ms pada 6 klien (selisih 0,56 sampai 0,75 ms, kepercayaan 95%).",
    ),
    "invalid": (
        RunMaker(alter=disturbed()),
        {},
        "invalid",
        "No result: somebody published other notifications in 48 of 48 rounds.",
        "Tanpa hasil: ada yang menerbitkan notifikasi lain dalam 48 dari 48 putaran.",
    ),
    "a is lower everywhere": (
        RunMaker(delay_ms=everywhere(0.6)),
        {},
        "lower_a",
        "SSE is faster: 1.05 against 1.73 ms with 6 clients (by 0.59 to 0.77 ms, 95 % confidence).",
        "SSE lebih cepat: 1,05 dibandingkan dengan 1,73 ms pada 6 klien (selisih 0,59 sampai 0,77 ms, kepercayaan 95%).",
    ),
    "b is lower everywhere": (
        RunMaker(delay_ms=everywhere(-0.6)),
        {},
        "lower_b",
        "Socket.IO is faster: 0.479 against 1.05 ms with 6 clients (by 0.48 to 0.67 ms, 95 % confidence).",
        "Socket.IO lebih cepat: 0,479 dibandingkan dengan 1,05 ms pada 6 klien (selisih 0,48 sampai 0,67 ms, kepercayaan 95%).",
    ),
    "lower everywhere by too little": (
        RunMaker(plan=a_plan(notifications=40), delay_ms=everywhere(0.07), block_noise=0.0005),
        {},
        "lower_a",
        "SSE is faster, by too little to matter: 1.08 against 1.14 ms with 6 clients (by 0.041 to 0.090 ms, 95 % confidence).",
        "SSE lebih cepat, tetapi selisihnya terlalu kecil untuk berarti: 1,08 dibandingkan dengan 1,14 ms "
        "pada 6 klien (selisih 0,041 sampai 0,090 ms, kepercayaan 95%).",
    ),
    "equal everywhere": (
        RunMaker(delay_ms=everywhere(0.0)),
        {},
        "equivalent",
        "No practical difference in delay between SSE and Socket.IO (less than 0.22 ms).",
        "Tidak ada perbedaan tundaan yang berarti antara SSE dan Socket.IO (kurang dari 0,22 ms).",
    ),
    "equal everywhere, with a small difference at one count": (
        RunMaker(delay_ms=slower({1: 0.0, 3: 0.1, 6: 0.1}), block_noise=0.005),
        {},
        "equivalent",
        "No practical difference in delay between SSE and Socket.IO (less than 0.22 ms).",
        "Tidak ada perbedaan tundaan yang berarti antara SSE dan Socket.IO (kurang dari 0,22 ms).",
    ),
    "mixed": (
        RunMaker(delay_ms=slower({1: 0.5, 3: 0.0, 6: 0.3}), alter=disturbed(only_clients=6)),
        {},
        "mixed",
        "SSE and Socket.IO: SSE faster with 1 client; equal with 3 clients; no result with 6 clients.",
        "SSE dan Socket.IO: SSE lebih cepat pada 1 klien; setara pada 3 klien; tanpa hasil pada 6 klien.",
    ),
    "equal or not decided": (
        RunMaker(delay_ms=slower({1: 0.15, 3: 0.0, 6: 0.15}), block_noise=0.08, seed=5),
        {},
        "mixed",
        "SSE and Socket.IO: equal with 3 clients; not decided with 1 and 6 clients.",
        "SSE dan Socket.IO: setara pada 3 klien; belum dapat diputuskan pada 1 dan 6 klien.",
    ),
    "not decided": (
        RunMaker(plan=a_plan(blocks=3), delay_ms=everywhere(0.1)),
        {},
        "undecided",
        "Not decided: 3 repetitions cannot tell 1.04 ms (SSE) from 1.20 ms (Socket.IO) with 6 clients.",
        "Belum dapat diputuskan: 3 ulangan tidak dapat membedakan 1,04 ms (SSE) dari 1,20 ms (Socket.IO) pada 6 klien.",
    ),
    "the same transport twice": (
        RunMaker(
            plan=a_plan(arms=("sse", "sse")),
            delay_ms=lambda arm, clients, client: 1.0 if arm.name == "sse.1" else 1.5,
        ),
        {},
        "lower_a",
        "The same transport twice, and one is faster: 1.05 against 1.63 ms with 6 clients. "
        "It is a false alarm, or something disturbed the run.",
        "Transpor yang sama diuji dua kali, dan salah satunya lebih cepat: 1,05 dibandingkan dengan 1,63 ms "
        "pada 6 klien. Ini kebetulan, atau ada yang mengganggu run ini.",
    ),
    "three arms": (
        RunMaker(
            plan=a_plan(arms=THREE),
            delay_ms=lambda arm, clients, client: 1.5 if arm.name == "socketio" else 1.0,
        ),
        {},
        "mixed",
        "SSE 1 compared with the others: faster than Socket.IO; equal to SSE 2.",
        "SSE 1 dibandingkan dengan yang lain: lebih cepat daripada Socket.IO; setara dengan SSE 2.",
    ),
    "one arm": (
        RunMaker(plan=a_plan(arms=("sse",))),
        {},
        "alone",
        "SSE: median delay 0.892 ms with 6 clients; nothing was compared.",
        "SSE: median tundaan 0,892 ms pada 6 klien; tidak ada yang dibandingkan.",
    ),
    "one arm of which nothing counts": (
        RunMaker(plan=a_plan(arms=("sse",)), alter=disturbed()),
        {},
        "alone",
        "Nothing was compared, and no round counts.",
        "Tidak ada yang dibandingkan, dan tidak ada putaran yang dihitung.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_rule_that_holds_is_the_headline(case: str) -> None:
    maker, arguments, kind, english, indonesian = CASES[case]

    found = headline(analyse(maker.run(**arguments)))  # type: ignore[arg-type]

    assert verdict_json(found.kind, found.sentence) == {
        "code": kind,
        "sentence_en": english,
        "sentence_id": indonesian,
    }


def test_phones_are_called_phones() -> None:
    run = RunMaker(delay_ms=everywhere(0.6)).run()
    phones = [{"client": each, "pseudonym": f"P{each + 1}"} for each in range(6)]
    analysis = analyse(replace(run, conditions={**run.conditions, "participants": phones}))

    assert text(headline(analysis).sentence, "en").endswith(
        "with 6 phones (by 0.59 to 0.77 ms, 95 % confidence)."
    )


def test_every_warning_that_makes_a_trial_invalid_has_a_clause() -> None:
    codes = {
        code
        for folder in (ROOT / "app", ROOT / "loadtests")
        for path in folder.rglob("*.py")
        for code in re.findall(r'\bvoid\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    }

    assert {"disconnected", "generator_busy"} < codes
    of_floors = {"floor_lost", "stored"}
    assert {code for code in codes if cause_clause(code).key == "cause.unknown"} == of_floors


def test_a_headline_as_json_has_its_messages_by_key() -> None:
    found = headline(analyse(RunMaker(alter=losing(arm="sse")).run()))

    assert headline_json(found.kind, found.sentence) == {
        "code": "losses",
        "key": "headline.losses",
        "args": {"clauses": [{"key": "headline.lost.arm", "args": {"arm": "SSE", "n": 24, "of": 1600}}]},
        "sentence_en": "SSE lost 24 of 1,600.",
        "sentence_id": "SSE kehilangan 24 dari 1.600.",
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cause_that_this_version_does_not_know_has_a_sentence(language: str) -> None:
    assert text(cause_clause("of_tomorrow"), language) == text(cause_clause("unknown"), language)
