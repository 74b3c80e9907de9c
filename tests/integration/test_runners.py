"""The runner as a child: one at a time, told to stop in order, its last words kept. With real processes."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.errors import Conflict
from app.core.sentence import to_json
from app.i18n import ending
from app.server.runners import LOG_BYTES_MAX, RUNNERS_KEPT_MAX, TAIL_BYTES_MAX, Order, Runner, Runners

WAIT_S = 20

SLEEPS = """
import sys, time
print("waiting", flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("stopped in order", flush=True)
    sys.exit(130)
"""

UNTIL_INPUT_ENDS = "import sys; sys.stdin.read(); print('the server has gone')"


def order(run: str = "r1", **changes: object) -> Order:
    values: dict[str, object] = {
        "run": run,
        "plan_json": '{"profile": "test"}',
        "url": "http://127.0.0.1:1",
        "runs_dir": Path("runs"),
        "token": "secret-token",
        "certificate": "",
        "phones": None,
    }
    return Order(**{**values, **changes})  # type: ignore[arg-type]


def program(text: str) -> list[str]:
    """A child that ignores the flags of a runner."""
    return [sys.executable, "-P", "-c", text]


@pytest.fixture
def runners() -> Iterator[Runners]:
    made = Runners()
    yield made
    last = made.running()
    if last is not None:
        last.process.kill()
        last.process.wait()


def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.01)


def until_buried(runner: Runner) -> None:
    until(lambda: runner.log.closed)


def test_what_a_runner_said_last_can_still_be_asked_for(runners: Runners) -> None:
    runner = runners.start(
        order(), command=program("import sys; print('x' * 9000); sys.exit('siar: no phones came')")
    )
    until_buried(runner)

    told = runner.to_json("en")
    assert (told["state"], told["exit_code"]) == ("ended", 1)
    assert told["last_words"].endswith("siar: no phones came")
    assert len(told["last_words"]) <= TAIL_BYTES_MAX
    assert told["ending"] is None
    assert runners.of("r1") is runner
    assert runners.running() is None


def test_the_reason_of_a_runners_end_has_a_code_and_a_sentence_in_the_readers_language(
    runners: Runners,
) -> None:
    said = json.dumps({"ending": to_json(ending("clock_unreachable", host="h", port=9))})
    runner = runners.start(
        order(), command=program(f"print('siar runner: no clock'); print({said!r}); exit(3)")
    )
    until_buried(runner)

    told = runner.to_json("id")

    assert told["last_words"] == "siar runner: no clock"
    assert told["ending"] == {
        "code": "clock_unreachable",
        "parameters": {"host": "h", "port": 9},
        "text": "Jam di h:9 tidak dapat dicapai.",
    }


@pytest.mark.parametrize("line", ["{", "[]", "7", '{"ending": 7}', '{"ending": {"text": "words"}}'])
def test_a_last_line_that_says_no_ending_is_left_as_it_is(runners: Runners, line: str) -> None:
    runner = runners.start(order(), command=program(f"print({line!r}); exit(1)"))
    until_buried(runner)

    told = runner.to_json("en")

    assert (told["last_words"], told["ending"]) == (line, None)


def test_a_runner_that_was_killed_is_reported_as_killed(runners: Runners) -> None:
    runner = runners.start(order(), command=program(SLEEPS))
    until(lambda: runner.last_output() == "waiting")
    assert runner.to_json("en")["ending"] is None

    runner.process.kill()
    until_buried(runner)

    told = runner.to_json("en")["ending"]
    assert (told["code"], told["parameters"]) == ("killed", {"signal": 9})


def test_a_second_runner_is_refused_while_one_runs(runners: Runners) -> None:
    first = runners.start(order("r1"), command=program(SLEEPS))

    with pytest.raises(Conflict, match="r1"):
        runners.start(order("r2"), command=program(SLEEPS))

    assert runners.running() is first


def test_a_runner_is_stopped_in_order(runners: Runners) -> None:
    runner = runners.start(order(), command=program(SLEEPS))
    until(lambda: runner.last_output() == "waiting")

    runners.stop("r1")
    until_buried(runner)

    assert runner.process.returncode == 130
    assert runner.last_output().endswith("stopped in order")
    with pytest.raises(Conflict):
        runners.stop("r1")


def test_a_runner_that_does_not_stop_is_ended_when_asked_again() -> None:
    runners = Runners(patience_us=1)
    deaf = "import signal, time; signal.signal(2, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    runner = runners.start(order(), command=program(deaf))
    until(lambda: runner.last_output() == "deaf")

    runners.stop("r1")
    assert runner.to_json("en")["state"] == "stopping"
    assert not runner.is_over
    runners.stop("r1")
    until_buried(runner)

    assert runner.process.returncode == -9


def test_a_runner_that_talks_without_end_fills_no_disk(runners: Runners) -> None:
    talks = "print('x' * 20_000_000, flush=True); print('still here', flush=True); input(); print('the end')"
    runner = runners.start(order(), command=program(talks))
    until(lambda: runner.last_output().endswith("still here"))

    # It is cut, and what is kept is written behind that: a word between the two would stand before it.
    until(lambda: 0 < os.fstat(runner.log.fileno()).st_size <= LOG_BYTES_MAX)
    assert runner.process.stdin is not None
    runner.process.stdin.write(b"\n")
    runner.process.stdin.flush()
    until_buried(runner)

    assert runner.last_output().endswith("still here\nthe end")


def test_what_is_not_under_way_cannot_be_stopped(runners: Runners) -> None:
    with pytest.raises(Conflict, match="not under way"):
        runners.stop("another")


def test_a_runner_reads_the_end_of_its_input_when_the_server_goes(runners: Runners) -> None:
    runner = runners.start(order(), command=program(UNTIL_INPUT_ENDS))
    assert runner.process.stdin is not None

    runner.process.stdin.close()  # As the kernel does, whatever ends the server.
    until_buried(runner)

    assert runner.last_output() == "the server has gone"


def test_the_server_hears_of_each_end_once() -> None:
    ended: list[str] = []
    runners = Runners(on_end=lambda runner: ended.append(runner.order.run))

    runners.start(order("r1"), command=program("pass"))
    until(lambda: ended == ["r1"])
    runners.start(order("r2"), command=program("pass"))

    until(lambda: ended == ["r1", "r2"])


def test_the_token_is_in_no_argument_and_the_plan_is_gone_with_the_runner(runners: Runners) -> None:
    tell = "import os, sys; print(os.environ['SIAR_ADMIN_TOKEN'], sys.argv[-2:], open(sys.argv[-1]).read())"
    runner = runners.start(order(), command=program(tell))
    until_buried(runner)

    assert runner.last_output().startswith("secret-token ['--plan', ")
    assert runner.last_output().endswith('{"profile": "test"}')
    assert "secret-token" not in str(runner.process.args)
    assert not os.path.exists(runner.plan_path)
    assert "secret-token" not in repr(runner)


def test_runners_are_remembered_up_to_a_bound(runners: Runners) -> None:
    for number in range(RUNNERS_KEPT_MAX + 1):
        runner = runners.start(order(f"r{number}"), command=program("pass"))
        runner.process.wait()

    assert runners.of("r0") is None
    assert runners.of(f"r{RUNNERS_KEPT_MAX}") is not None


def test_the_server_hears_of_an_end_also_when_the_last_words_are_lost() -> None:
    """Its room would stay as it was for ever, and phones wait in it."""
    ended: list[Runner] = []
    runners = Runners(on_end=ended.append)
    runner = runners.start(order(), command=program(UNTIL_INPUT_ENDS))
    assert runner.process.stdin is not None

    runner.log.close()
    runner.process.stdin.close()

    until(lambda: ended == [runner])
    assert runner.last_output() == ""


def test_a_disk_that_is_full_is_said_and_leaves_no_half_a_plan(
    runners: Runners, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        with pytest.raises(OSError, match="large"):
            runners.start(order(), command=program("pass"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handled)

    assert list(tmp_path.iterdir()) == []
    assert runners.running() is None
