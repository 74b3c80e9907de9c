"""Output that nobody takes any more: a reader that has gone, a full disk, a closed descriptor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.store.store import Store
from tests.support.commands import environment_of
from tests.support.server import free_port
from tests.unit.support_run import RunMaker, a_plan, store_run

RUN, OTHER_RUN = "./run", "./other"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in it."""
    made = tmp_path_factory.mktemp("output")
    for name in (RUN, OTHER_RUN):
        run = RunMaker(a_plan(client_counts=(1,), blocks=2, notifications=4)).run()
        store_run(run, made).rename(made / name)
    return made


def full() -> int:
    """The end of a file on a disk that has no room. Never anything but opened for writing."""
    return os.open("/dev/full", os.O_WRONLY)


def left() -> int:
    """A pipe whose reader has gone."""
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    return write_fd


def with_output(
    folder: Path, *arguments: str, stdout: Callable[[], int] | None, both: bool = False
) -> subprocess.CompletedProcess[str]:
    """`./siar ...` with such a standard output, `None` for a closed one, and with `both` such a standard error too."""
    fd = None if stdout is None else stdout()
    try:
        return subprocess.run(
            [sys.executable, "-P", "-m", "app", *arguments],
            cwd=folder,
            env=environment_of(SIAR_PORT=str(free_port())),
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd if both else subprocess.PIPE,
            preexec_fn=(lambda: os.close(1)) if fd is None else None,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        if fd is not None:
            with suppress(OSError):
                os.close(fd)


COMMANDS = {
    "help": ("--help",),
    "version": ("--version",),
    "runs": ("runs",),
    "report": ("report", RUN),
    "a long report": ("report", RUN, "--format", "html"),
    "compare": ("compare", RUN, OTHER_RUN),
    "verify": ("verify", RUN),
    "doctor": ("doctor", "--host", "127.0.0.1"),
    "serve": ("serve", "--host", "127.0.0.1", "--no-check"),
    "phones": ("run", "--phones", "1", "--no-check"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_has_gone_ends_the_command_without_a_word(folder: Path, name: str) -> None:
    done = with_output(folder, *COMMANDS[name], stdout=left)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_output_that_cannot_be_written_is_told_in_one_sentence(folder: Path, name: str) -> None:
    done = with_output(folder, *COMMANDS[name], stdout=full)

    assert done.returncode == 3
    assert done.stderr == "siar: Standard output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("name", ["help", "report", "compare", "serve"])
def test_a_closed_output_is_told_in_one_sentence(folder: Path, name: str) -> None:
    done = with_output(folder, *COMMANDS[name], stdout=None)

    assert done.returncode == 3
    assert done.stderr == "siar: Standard output cannot be written: Bad file descriptor.\n"


@pytest.mark.parametrize(("stdout", "code"), [(full, 3), (left, 141)])
def test_what_nobody_can_be_told_of_still_has_its_exit_code(
    folder: Path, stdout: Callable[[], int], code: int
) -> None:
    assert with_output(folder, "report", RUN, stdout=stdout, both=True).returncode == code


def test_a_mistake_is_a_mistake_though_nobody_reads_of_it(folder: Path) -> None:
    assert with_output(folder, "report", "nothing", stdout=full, both=True).returncode == 2


def test_a_file_on_a_full_disk_is_told_in_one_sentence(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "compare", RUN, OTHER_RUN, "--json", "/dev/full"],
        cwd=folder,
        env=environment_of(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == "siar: /dev/full cannot be written: No space left on device.\n"
    assert Path("/dev/full").is_char_device()


@pytest.mark.slow
def test_an_experiment_whose_reader_goes_ends_in_order_and_keeps_what_it_measured(tmp_path: Path) -> None:
    """Its progress goes to standard error, so that the next line is where it is noticed."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "demo", "--quick"],
        cwd=tmp_path,
        env=environment_of(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        code = running.wait(120)

    (folder,) = (tmp_path / "runs").iterdir()
    with Store.open(folder) as store:
        run = store.load()
    assert code == 141
    assert not run.complete
    assert run.conditions["stopped"] == "on request"
