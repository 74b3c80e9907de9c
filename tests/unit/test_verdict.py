"""A run's answer in one sentence, for people who took part."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.cli import main as cli
from app.cli import verify
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison
from app.lab.analysis.verdict import RunVerdict, run_verdict
from tests.unit.support_run import RunMaker, a_plan, store_run
from tests.unit.test_analysis_comparison import verdict_at_6

UP = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]


def verdict_of(*comparisons: Comparison, phones: bool = False) -> RunVerdict:
    """Of a run in which these were compared."""
    run = SimpleNamespace(verdicts=comparisons, phones=phones, noun="phone" if phones else "client")
    return run_verdict(cast(Analysis, cast(Any, run)))


@pytest.mark.parametrize(
    ("differences", "void", "code", "indonesian"),
    [
        (UP, 0, "lower_a", "SSE lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien"),
        ([-each for each in UP], 0, "lower_b", "Socket.IO lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien"),
        (
            [0.10] * 8,
            0,
            "lower_a",
            "SSE lebih cepat 0,100 ms [0,100; 0,100] pada 6 klien; setara dalam ±0,200 ms",
        ),
        (
            [0.1, -0.1] * 4,
            0,
            "equivalent",
            "Setara dalam ±0,200 ms pada 6 klien: Socket.IO - SSE = 0,000 ms, selang 90% [-0,100; 0,100]",
        ),
        (
            [0.5] * 3,
            0,
            "undecided",
            "Belum dapat diputuskan (perlu sekitar 5 blok lagi) pada 6 klien: Socket.IO - SSE = 0,500 ms, "
            "blok terlalu sedikit untuk sebuah selang",
        ),
        (
            [],
            0,
            "undecided",
            "Belum dapat diputuskan (perlu sekitar 8 blok lagi) pada 6 klien: "
            "tidak ada blok sah yang memberi angka tundaan",
        ),
        (
            [0.5] * 8,
            6,
            "invalid",
            "Tundaan tidak sah pada 6 klien: hanya 2 dari 8 blok yang sah, lihat peringatan",
        ),
    ],
)
def test_a_verdict_has_a_code_and_the_same_figures_in_indonesian(
    differences: list[float], void: int, code: str, indonesian: str
) -> None:
    found = verdict_of(verdict_at_6(differences, void=void))

    assert (found.code, found.sentence_id) == (code, indonesian)


def test_a_difference_between_arms_that_are_the_same_is_called_in_question_in_both_languages() -> None:
    found = verdict_of(verdict_at_6(UP, plan=a_plan(arms=("sse", "sse"))))

    assert "(the arms are the same: a false alarm, or something disturbed the run) at" in found.sentence_en
    assert found.sentence_id == (
        "SSE 1 lebih cepat 0,850 ms [0,600; 1,100] "
        "(kedua cara sama: alarm palsu, atau ada yang mengganggu percobaan) pada 6 klien"
    )


def test_no_endless_number_of_blocks_is_promised_in_indonesian_either() -> None:
    found = verdict_of(verdict_at_6([30.0, -30.0, 29.0, -29.0, 31.0, -31.0, 30.0, -30.001]))

    assert "perlu sekitar 999 blok atau lebih" in found.sentence_id


def test_the_largest_count_that_ran_speaks_for_the_run() -> None:
    small = replace(verdict_at_6(UP), clients=3)
    large, unrun = verdict_at_6([-each for each in UP]), replace(verdict_at_6([]), clients=9)

    assert verdict_of(small, large).code == "lower_b"
    assert verdict_of(small, unrun).code == "lower_a"


def test_people_are_phones_where_they_took_part_with_one() -> None:
    found = verdict_of(verdict_at_6(UP), phones=True)

    assert "pada 6 ponsel" in found.sentence_id
    assert "at 6 phones" in found.sentence_en


def test_one_arm_alone_is_compared_with_nothing() -> None:
    assert verdict_of().code == "alone"


@pytest.mark.parametrize(
    ("changed", "exit_code"),
    [
        pytest.param(lambda text: text.replace("0,", "0."), 0, id="as older versions wrote it"),
        pytest.param(lambda text: text.replace("Belum", "Sudah"), 1, id="other words"),
        pytest.param(lambda text: text.replace("0,", "0,0"), 1, id="another figure"),
    ],
)
def test_of_a_run_from_before_decimal_commas_all_but_these_is_verified(
    changed: Callable[[str], str], exit_code: int, tmp_path: Path
) -> None:
    folder = store_run(RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run(), tmp_path)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    sentence = result["verdict"]["sentence_id"]
    result["verdict"]["sentence_id"] = changed(sentence)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")

    assert changed(sentence) != sentence
    assert cli.main(["verify", str(folder)]) == exit_code


def test_an_interval_from_before_decimal_commas_is_the_same() -> None:
    said = {"verdict": {"sentence_id": "a.1 = -0.5 ms [-0.6, 1.1] pada 6 klien, bukan 7"}}
    says = {"verdict": {"sentence_id": "a.1 = -0,5 ms [-0,6; 1,1] pada 6 klien, bukan 7"}}
    lies = {"verdict": {"sentence_id": "a.1 = -0,5 ms [-0,6; 11] pada 6 klien, bukan 7"}}

    assert list(verify.differences("", said, says)) == []
    assert len(list(verify.differences("", said, lies))) == 1


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("SSE 1 lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien", 0),
        ("SSE 2 lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien", 1),
        ("SSE 1 lebih cepat 0,850 ms [0,600; 1,200] pada 6 klien", 1),
    ],
)
def test_a_sentence_from_before_it_questioned_equal_arms_is_verified(said: str, count: int) -> None:
    says = verdict_of(verdict_at_6(UP, plan=a_plan(arms=("sse", "sse")))).sentence_id

    found = verify.differences("", {"verdict": {"sentence_id": said}}, {"verdict": {"sentence_id": says}})

    assert len(list(found)) == count


def test_an_interval_from_before_its_level_was_said_is_the_same() -> None:
    says = {"sentence_id": verdict_of(verdict_at_6([0.1, -0.1] * 4)).sentence_id}
    said = {"sentence_id": "Setara dalam ±0,200 ms pada 6 klien: Socket.IO - SSE = 0,000 ms [-0,100; 0,100]"}

    assert list(verify.differences("", said, says)) == []


def test_what_is_said_about_a_published_study_may_be_bettered_and_its_figures_not() -> None:
    written = {"published": [{"id": "x", "differences": ["a", "b"], "rows": [1.0]}]}
    computed = {"published": [{"id": "x", "differences": ["c"], "rows": [2.0]}]}

    assert list(verify.differences("", written, computed)) == [("published[0].rows[0]", 1.0, 2.0)]
    lost = verify.differences(
        "", {"comparison": [{"differences": [1]}]}, {"comparison": [{"differences": [2]}]}
    )
    assert len(list(lost)) == 1
