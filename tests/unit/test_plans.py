"""Plans that come along, and plans from files."""

from pathlib import Path

import pytest

from app.core.errors import Malformed
from app.core.plan.scenario import Arm
from app.store.plans import demo_plan, load_plan


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path


def test_the_demo_has_8_blocks_and_a_quick_one_3() -> None:
    assert (demo_plan(seed=1).blocks, demo_plan(seed=1, quick=True).blocks) == (8, 3)
    assert demo_plan(seed=1).client_counts == (1, 3, 6)
    assert [arm.name for arm in demo_plan(seed=1, arms=["sse", "sse"]).arms] == ["sse.1", "sse.2"]


def test_a_file_names_arms_and_changes_what_it_names(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'blocks = 2\nrate_hz = 5\n[[arms]]\ntransport = "sse"\n'
        '[[arms]]\nname = "far"\ntransport = "sse"\nvia = "http://127.0.0.1:9"\n',
    )

    plan = load_plan(path, seed=42)

    assert plan.arms == (Arm("sse", "sse"), Arm("far", "sse", {"via": "http://127.0.0.1:9"}))
    assert (plan.blocks, plan.rate_hz, plan.seed, plan.notifications) == (2, 5, 42, 100)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "names its arms", id="no arms"),
        pytest.param('arms = ["carrier pigeon"]', "is no transport", id="an unknown transport"),
        pytest.param('arms = ["sse"]\nblock = 3', "no field 'block'", id="an unknown key"),
        pytest.param('arms = ["sse"]\nblocks = "3"', "must be a whole number", id="text for a number"),
        pytest.param('arms = ["sse"]\nblocks = true', "must be a whole number", id="true for a number"),
        pytest.param('arms = ["sse"]\nrate_hz = nan', "rate is", id="not a number"),
        pytest.param('arms = ["sse"]\nclient_counts = 3', "list of whole numbers", id="no list"),
        pytest.param('arms = ["sse"]\nprofile = 3', "must be text", id="a number for text"),
        pytest.param('arms = [{transport = "sse", via = [1]}]', "must be a URL", id="a list as a factor"),
        pytest.param(
            'arms = [{transport = "sse", via = "http://h:99999"}]', "must be a URL", id="an impossible port"
        ),
        pytest.param(
            'arms = [{transport = "sse", encryption = true}]', "no factor 'encryption'", id="no such factor"
        ),
        pytest.param('arms = ["sse"]\nprofile = "live"', "no experiment", id="the profile of a live run"),
        pytest.param("arms = [", "is not TOML", id="no TOML"),
        pytest.param("#" * 70_000, "longer than", id="a huge file"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence_that_names_it(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(Malformed, match=sentence) as caught:
        load_plan(written(tmp_path, text))
    assert "plan.toml" in str(caught.value)


def test_a_file_that_begins_with_a_bom_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffblocks = 2\narms = ["sse", "socketio"]\n')

    assert load_plan(path).blocks == 2


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="cannot be read"):
        load_plan(tmp_path / "none.toml")
