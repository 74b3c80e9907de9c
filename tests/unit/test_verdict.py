"""Sentences on comparisons in both languages, and what `siar verify` compares of sentences."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from app.cli import main as cli
from app.cli import verify
from app.i18n import text
from app.lab.analysis.comparison.sentences import sentence
from tests.unit.support_run import RunMaker, a_plan, store_run
from tests.unit.test_analysis_comparison import verdict_at_6


def deep(levels: int) -> Any:
    """Return that many messages, each within another."""
    return reduce(lambda inner, _: {"key": "clauses", "args": {"items": [inner]}}, range(levels // 3), None)


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


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`result.json` of a run."""
    run = RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run()
    return store_run(run, tmp_path_factory.mktemp("runs")) / "result.json"


def verified_with(changes: dict[str, Any], written: Path) -> int:
    """Return the exit code of `siar verify` after changes of `result.json` by their paths; `GONE` removes what is there."""
    before = written.read_text(encoding="utf-8")
    result = json.loads(before)
    for path, value in changes.items():
        *places, last = path.split(".")
        place = reduce(getitem, places, result)
        assert place[last] != value
        if value is GONE:
            del place[last]
        else:
            place[last] = value
    written.write_text(json.dumps(result), encoding="utf-8")
    try:
        return cli.main(["verify", str(written.parent)])
    finally:
        written.write_text(before, encoding="utf-8")


GONE = object()
OF_ANOTHER_VERSION = {"run.version": "0.0.9"}
OTHER_WORDS = "SSE is faster."


@pytest.mark.parametrize("sentence", ["sentence_en", "sentence_id"])
@pytest.mark.parametrize("place", ["headline", "verdict"])
def test_a_sentence_does_not_come_out_again_in_other_words_unless_another_version_wrote_it(
    place: str, sentence: str, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {f"{place}.{sentence}": OTHER_WORDS}

    assert verified_with({}, written) == 0
    assert verified_with({**changed, **OF_ANOTHER_VERSION}, written) == 0
    capsys.readouterr()
    assert verified_with(changed, written) == 1
    assert f"{place}.{sentence}: written {OTHER_WORDS!r}, computed '" in capsys.readouterr().out


def test_the_verdict_of_a_run_from_before_the_headline_is_not_compared(written: Path) -> None:
    assert verified_with({"headline": GONE, "verdict": {"code": "lower_a"}}, written) == 0


@pytest.mark.parametrize("version", [{}, OF_ANOTHER_VERSION], ids=["this version", "another version"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"headline.code": "lower_a"}, id="another headline"),
        pytest.param({"headline.args": {"n": 3}}, id="another figure in it"),
        pytest.param({"verdict.code": "lower_a"}, id="another verdict than the headline"),
        pytest.param({"headline.key": "no.such.key"}, id="a key that is none"),
        pytest.param({"headline.args": {}}, id="no arguments"),
        pytest.param({"headline.args": [{"key": "headline.lower"}]}, id="arguments without names"),
        pytest.param({"headline.args": {"n": "{0.__class__:>999999999}"}}, id="a format for a figure"),
        pytest.param({"headline.args": {"clauses": deep(900)}}, id="a message within messages"),
        pytest.param({"headline": None}, id="no headline"),
        pytest.param({"headline": "SSE is faster.", "verdict": []}, id="text in place of it"),
    ],
)
def test_what_a_headline_says_is_compared_whoever_wrote_it(
    change: dict[str, Any], version: dict[str, Any], written: Path
) -> None:
    assert verified_with({**change, **version}, written) == 1


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "null", '{"run": [], "headline": {}}'])
def test_a_result_that_is_none_is_told_in_a_sentence(
    text: str, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(written.parent, folder)
    (folder / "result.json").write_text(text, encoding="utf-8")

    assert cli.main(["verify", str(folder)]) == 1

    said = capsys.readouterr()
    assert "is damaged" in said.err or "did not come out again" in said.out


def test_what_a_hostile_result_names_is_not_executed_by_the_terminal(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified_with({"headline.args": {"\x1b]0;n\x07": 1, "\ud800": 2}}, written) == 1

    said = capsys.readouterr().out
    assert "headline.args.?: written 2" in said
    assert "\x1b" not in said


def test_what_is_said_about_a_published_study_may_be_bettered_and_its_figures_not() -> None:
    before = {"published": [{"id": "x", "differences": ["a", "b"], "rows": [1.0]}]}
    after = {"published": [{"id": "x", "differences": ["c"], "rows": [2.0]}]}

    assert list(verify.differences("", before, after, verify.WORDING)) == [("published[0].rows[0]", 1.0, 2.0)]
    lost = verify.differences(
        "",
        {"comparison": [{"differences": [1]}]},
        {"comparison": [{"differences": [2]}]},
        verify.WORDING,
    )
    assert len(list(lost)) == 1
