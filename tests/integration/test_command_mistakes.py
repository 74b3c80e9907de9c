"""Commands mistyped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import siar
from tests.unit.support_run import RunMaker, a_plan, store_run


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "word"),
    [
        ((), {}, 2, "COMMAND"),
        pytest.param(("dmeo",), {}, 2, "demo", marks=pytest.mark.slow),
        (("demo", "--quik"), {}, 2, "--quik"),
        pytest.param(("demo", "--seed", "x"), {}, 2, "--seed", marks=pytest.mark.slow),
        pytest.param(("demo", "--arms", "carrier"), {}, 2, "socketio", marks=pytest.mark.slow),
        pytest.param(("demo", "--arms", ","), {}, 2, "--arms", marks=pytest.mark.slow),
        (("demo", "--json", "no/such/folder/x.json"), {}, 2, "no/such/folder"),
        pytest.param(("demo", "--json", "."), {}, 2, "folder", marks=pytest.mark.slow),
        (("demo",), {"SIAR_MISSPELT": "1"}, 2, "SIAR_MISSPELT"),
        pytest.param(("run", "missing.toml"), {}, 2, "missing.toml", marks=pytest.mark.slow),
        (("run", "--clients", "1,x"), {}, 2, "--clients"),
        pytest.param(("run", "--clients", "0"), {}, 2, "count of clients", marks=pytest.mark.slow),
        pytest.param(("run", "--rate", "0"), {}, 2, "rate", marks=pytest.mark.slow),
        pytest.param(("run", "--payload-bytes", "1"), {}, 2, "payload", marks=pytest.mark.slow),
        (("report", "nothing"), {}, 2, "siar runs"),
        pytest.param(("verify", "nothing"), {}, 2, "siar runs", marks=pytest.mark.slow),
        pytest.param(("serve", "--port", "99999"), {}, 2, "SIAR_PORT", marks=pytest.mark.slow),
        (("serve", "--workers", "4"), {}, 2, "broker"),
        (("serve", "--host", "203.0.113.1"), {}, 3, "203.0.113.1"),
        (("doctor", "--url", "siar.example"), {}, 2, "https://siar.example"),
        (("doctor", "--host", "203.0.113.1"), {"LC_ALL": "C"}, 3, ""),
    ],
)
def test_a_mistake_gets_a_sentence_and_its_exit_code(
    arguments: tuple[str, ...], settings: dict[str, str], code: int, word: str, tmp_path: Path
) -> None:
    done = siar(tmp_path, *arguments, timeout_s=120, **settings)

    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_run_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    for name in ("2026-01-01T00-00-00-0001", "2026-01-01T00-00-00-0002"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "2026-01-01T00-00-00-0001" / "run.sqlite").write_bytes(
        b"not a database at all" * 100
    )
    made = RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=4)).run()
    whole = store_run(made, tmp_path / "runs")

    listed = siar(tmp_path, "runs")

    assert listed.returncode == 0
    lines = {line.split()[0]: "cannot be read" in line for line in listed.stdout.splitlines()}
    assert lines == {
        "2026-01-01T00-00-00-0001": True,
        "2026-01-01T00-00-00-0002": True,
        whole.name: False,
    }
