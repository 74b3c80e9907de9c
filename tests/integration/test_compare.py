"""`siar compare` on stored runs: what it prints, writes and answers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main as cli
from app.core.trial import RunRecord
from tests.unit.support_run import RunMaker, a_plan, store_run

PLAN = a_plan(client_counts=(1,), blocks=8, notifications=6)


def a_run(name: str, *, seed: int, factor: float = 1.0) -> RunRecord:
    maker = RunMaker(PLAN, delay_ms=lambda arm, clients, client: 0.6 * factor, seed=seed)
    return replace(maker.run(), id=name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    runs_dir = tmp_path_factory.mktemp("runs")
    made = {
        "base": a_run("base", seed=1),
        "same": a_run("same", seed=2),
        "slow": a_run("slow", seed=3, factor=2.0),
        "real": replace(a_run("real", seed=4), simulated=False),
        "void": replace(
            a_run("void", seed=5),
            trials=tuple(replace(each, disconnects=1) for each in a_run("void", seed=5).trials),
        ),
    }
    return {name: str(store_run(run, runs_dir)) for name, run in made.items()}


def test_a_regression_is_named_and_is_a_gate_on_request(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", runs["base"], runs["slow"]]) == 0
    assert "Regression: delay of SSE at 1 client higher by" in capsys.readouterr().out
    assert cli.main(["compare", runs["base"], runs["slow"], "--gate"]) == 99
    assert "Gate missed: " in capsys.readouterr().out
    assert cli.main(["compare", runs["base"], runs["same"], "--gate"]) == 0
    assert "Gate held: none of 6 figures got worse." in capsys.readouterr().out


def test_a_gate_on_nothing_is_not_held(runs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", runs["base"], runs["void"], "--gate"]) == 3
    assert "Gate not judged: 6 of 6 figures have too few valid trials" in capsys.readouterr().out
    assert cli.main(["compare", runs["base"], runs["void"]]) == 0


def test_several_runs_go_into_one_json(runs: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "compared.json"

    assert cli.main(["compare", runs["base"], runs["same"], runs["slow"], "--json", str(path)]) == 0

    found = json.loads(path.read_text())
    assert [each["id"] for each in found["runs"]] == ["base", "same", "slow"]
    assert {row["run"] for row in found["rows"]} == {"same", "slow"}
    assert found["regressions"]


def test_a_place_that_cannot_take_the_json_is_told_before_anything_is_compared(
    runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none" / "compared.json"

    assert cli.main(["compare", runs["base"], runs["same"], "--json", str(path)]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "--json" in said.err
    assert "there is no folder" in said.err


def test_runs_that_are_not_comparable_answer_1_and_say_why(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", runs["base"], runs["real"]]) == 1
    said = capsys.readouterr().out
    assert "Not comparable: simulated: yes against no" in said
    assert "Delay, median" not in said
    assert cli.main(["compare", runs["base"], runs["real"], "--anyway"]) == 0
    said = capsys.readouterr().out
    assert (
        said.index("Not comparable: ") < said.index("they do not mean the same") < said.index("Delay, median")
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [(("base",), "two runs or more"), (("base", "base"), "named twice"), (("base", "none"), "no run")],
)
def test_what_cannot_be_compared_is_a_sentence_and_exit_2(
    runs: dict[str, str], names: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *(runs.get(name, name) for name in names)]) == 2
    assert sentence in capsys.readouterr().err
