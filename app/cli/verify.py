"""`./siar verify RUN`: recompute a run's figures from its raw deliveries and compare them with the written ones.

If phones measured, the clock offsets that they posted are also recomputed, from the probes that they posted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any

from app import settings as settings_module
from app.cli import measuring
from app.core.errors import StoreError
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK
from app.lab.analysis.validity.clock_check import check_clocks
from app.lab.report.data.result import result_text
from app.store.archive.forget import removed_count
from app.store.store import Store

DIFFERENCES_SHOWN_MAX = 10

NOTE = "note"
"""Key of a remark on published figures: wording, which a later version may improve."""

INDONESIAN = "sentence_id"
"""Key of the Indonesian sentence; older versions wrote it with decimal points and without the words that `_as_before`
removes."""

STUDIES = re.compile(r"published\[\d+\]\.differences")
"""Path of a remark on a published study, which does not belong to a run: wording, like `NOTE`."""

VALUE_CHARS_MAX = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run."""
    parser.add_argument("run", metavar="RUN", help="id of a run (`siar runs`) or path of its folder")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when every figure of `result.json` is reproduced, else print the first differences and return 1."""
    folder = measuring.find_run(arguments.run, settings_module.read(os.environ))
    try:
        written = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(
            f"{folder} has no result.json to verify ({error.strerror}): it is no finished experiment."
        ) from error
    except ValueError as error:
        raise StoreError(f"{folder / 'result.json'} is damaged: {error}.") from error
    if gone_count := removed_count(folder):
        who = "A participant" if gone_count == 1 else f"{gone_count} participants"
        print(
            f"{folder.name}: {who} had what was recorded about them deleted after the run, so its figures cannot come out again."
        )
        return EXIT_FAILURE
    analysis = measuring.load(folder)
    different = list(differences("", written, json.loads(result_text(analysis))))
    if not different:
        print(
            f"{analysis.run.id}: every figure comes out again from {analysis.totals.expected} expected deliveries."
        )
        return _verify_clocks(folder)
    print(f"{analysis.run.id}: {len(different)} figures do not come out again:")
    for path, before, after in different[:DIFFERENCES_SHOWN_MAX]:
        print(f"  {path}: written {_shown(before)}, computed {_shown(after)}")
    return EXIT_FAILURE


def _verify_clocks(folder: Path) -> int:
    """Return 0 when no offset that a phone posted contradicts its own probes. Runs without probes print nothing."""
    with Store.open(folder) as store:
        check = check_clocks(store.each_sample(), store.probes())
    if check.contradicted:
        print(f"{len(check.contradicted)} offsets of phones' clocks contradict their own probes:")
        for each in check.contradicted[:DIFFERENCES_SHOWN_MAX]:
            print(f"  {each}")
        return EXIT_FAILURE
    if check.count:
        posted_us, again_us = check.bound_us_p50
        print(
            f"{check.count} offsets of phones' clocks come out again from their probes, bound p50 "
            f"{again_us / 1000:.2f} ms (posted: {posted_us / 1000:.2f} ms); without a probe near: {check.unknown}."
        )
    return EXIT_OK


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "..."


def _with_commas(sentence: str) -> str:
    """Return an Indonesian sentence with decimal commas, and a semicolon between the ends of an interval."""
    return re.sub(r"(\[[-\d,]+), ", r"\1; ", re.sub(r"(?<=\d)\.(?=\d)", ",", sentence))


def _as_before(sentence: str) -> str:
    """Return an Indonesian sentence as older versions wrote it: without interval level and note on equal arms."""
    return re.sub(r", selang \d+%(?= \[)| \(kedua cara sama: [^)]*\)", "", sentence)


def differences(path: str, written: Any, computed: Any) -> Any:
    """Yield path, written value and computed value of each figure that differs."""
    if isinstance(written, dict) and isinstance(computed, dict):
        for key in sorted(written):  # A later version may have added keys, which are ignored.
            if f"{path}.{key}" == "run.version" or key == NOTE or STUDIES.fullmatch(f"{path}.{key}"):
                continue  # The version of Siar that wrote the run, and its wording, may differ.
            before, after = written.get(key), computed.get(key)
            if key == INDONESIAN and isinstance(before, str) and isinstance(after, str):
                before, after = _with_commas(before), _with_commas(after)
                after = before if before == _as_before(after) else after
            yield from differences(f"{path}.{key}".lstrip("."), before, after)
    elif isinstance(written, list) and isinstance(computed, list) and len(written) == len(computed):
        for index, (before, after) in enumerate(zip(written, computed, strict=True)):
            yield from differences(f"{path}[{index}]", before, after)
    elif written != computed:
        yield path, written, computed
