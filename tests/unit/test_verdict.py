"""Sentences on comparisons in both languages, and what `siar verify` compares of sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import main as cli
from app.cli import verify
from app.i18n import text
from app.lab.analysis.comparison.sentences import sentence
from tests.unit.support_run import RunMaker, a_plan, store_run
from tests.unit.test_analysis_comparison import verdict_at_6

UP = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]


@pytest.mark.parametrize(
    ("differences", "void", "indonesian"),
    [
        (UP, 0, "SSE lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien"),
        ([-each for each in UP], 0, "Socket.IO lebih cepat 0,850 ms [0,600; 1,100] pada 6 klien"),
        (
            [0.10] * 8,
            0,
            "SSE lebih cepat 0,100 ms [0,100; 0,100] pada 6 klien; setara dalam ±0,200 ms",
        ),
        (
            [0.1, -0.1] * 4,
            0,
            "setara dalam ±0,200 ms pada 6 klien: Socket.IO - SSE = 0,000 ms, selang 90% [-0,100; 0,100]",
        ),
        (
            [0.5] * 3,
            0,
            "belum dapat diputuskan (perlu sekitar 5 blok lagi) pada 6 klien: Socket.IO - SSE = 0,500 ms, "
            "blok terlalu sedikit untuk sebuah selang",
        ),
        (
            [],
            0,
            "belum dapat diputuskan (perlu sekitar 8 blok lagi) pada 6 klien: "
            "tidak ada blok sah yang memberi angka tundaan",
        ),
        (
            [0.5] * 8,
            6,
            "tundaan tidak sah pada 6 klien: hanya 2 dari 8 blok yang sah, lihat peringatan",
        ),
    ],
)
def test_a_sentence_has_the_same_figures_in_indonesian(
    differences: list[float], void: int, indonesian: str
) -> None:
    assert text(sentence(verdict_at_6(differences, void=void)), "id") == indonesian


def test_a_difference_between_arms_that_are_the_same_is_called_in_question_in_both_languages() -> None:
    found = sentence(verdict_at_6(UP, plan=a_plan(arms=("sse", "sse"))))

    assert "(the arms are the same: a false alarm, or something disturbed the run) at" in text(found, "en")
    assert text(found, "id") == (
        "SSE 1 lebih cepat 0,850 ms [0,600; 1,100] "
        "(kedua cara sama: alarm palsu, atau ada yang mengganggu percobaan) pada 6 klien"
    )


def test_no_endless_number_of_blocks_is_promised_in_indonesian_either() -> None:
    found = sentence(verdict_at_6([30.0, -30.0, 29.0, -29.0, 31.0, -31.0, 30.0, -30.001]))

    assert "perlu sekitar 999 blok atau lebih" in text(found, "id")


def test_people_are_phones_where_they_took_part_with_one() -> None:
    found = sentence(verdict_at_6(UP), noun="phone")

    assert "pada 6 ponsel" in text(found, "id")
    assert "at 6 phones" in text(found, "en")


@pytest.mark.parametrize(
    ("path", "change", "exit_code"),
    [
        pytest.param("verdict", "SSE lebih cepat", 0, id="the sentence of an earlier version"),
        pytest.param("sentence_id", "SSE lebih cepat", 0, id="the headline in other words"),
        pytest.param("code", "lower_a", 1, id="another headline"),
        pytest.param("args", {"n": 3}, 1, id="another figure in it"),
    ],
)
def test_wording_may_be_bettered_and_what_it_says_not(
    path: str, change: object, exit_code: int, tmp_path: Path
) -> None:
    folder = store_run(RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run(), tmp_path)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    place, key = (result["verdict"], "sentence_id") if path == "verdict" else (result["headline"], path)
    assert place[key] != change
    place[key] = change
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")

    assert cli.main(["verify", str(folder)]) == exit_code


def test_what_is_said_about_a_published_study_may_be_bettered_and_its_figures_not() -> None:
    written = {"published": [{"id": "x", "differences": ["a", "b"], "rows": [1.0]}]}
    computed = {"published": [{"id": "x", "differences": ["c"], "rows": [2.0]}]}

    assert list(verify.differences("", written, computed)) == [("published[0].rows[0]", 1.0, 2.0)]
    lost = verify.differences(
        "", {"comparison": [{"differences": [1]}]}, {"comparison": [{"differences": [2]}]}
    )
    assert len(list(lost)) == 1
