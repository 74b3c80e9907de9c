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
from app.core.messages import Message, Say
from app.core.version import VERSION
from app.i18n import speaker, terminal_language
from app.lab.analysis.validity.clock_check import check_clocks
from app.lab.report.data.result import result_text
from app.lab.run.progress import literal
from app.store.archive.forget import removed_count
from app.store.store import Store

DIFFERENCES_SHOWN_MAX = 10

NOTE = "note"
"""Key of a remark on published figures: wording, which a later version may improve."""

WORDING = re.compile(r"run\.version|published\[\d+\]\.differences")
"""Paths of what is never compared: the version, and remarks on published studies, which do not belong to a run."""

WORDING_OF_ANOTHER_VERSION = re.compile(rf"{WORDING.pattern}|(headline|verdict)\.sentence_\w+")
"""Paths of what may differ in a run from another version: also sentences, which the headline has as `key` and `args` too."""

WORDING_WITHOUT_HEADLINE = re.compile(rf"{WORDING.pattern}|verdict")
"""Paths of what may differ in a run from before the headline, whose `verdict` was made by another rule."""

NOTES_OF_OTHER_LIMITS = frozenset({"client_slow", "machine_busy"})
"""Codes of notes that had stricter limits when runs of the schemas 1 to 6 were written. They are not compared, because a note
changes no figure; a warning with such a code that voids a trial is."""

WHOLE = ("headline", "verdict")
"""Beginnings of the paths where every key that is computed has to be written; elsewhere a later version may have added some."""

VALUE_CHARS_MAX = 200
"""Characters that are printed of a value at most: a headline is shorter."""


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
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder / 'result.json'} is damaged: {error}.") from error
    say = speaker(terminal_language(os.environ))
    if gone_count := removed_count(folder):
        print(say(Message("verify.deleted", {"run": folder.name, "who": gone_count})))
        return EXIT_FAILURE
    analysis = measuring.load(folder)
    different = list(differences("", written, json.loads(result_text(analysis)), _wording(written)))
    if not different:
        print(say(Message("verify.same", {"run": analysis.run.id, "n": analysis.totals.expected})))
        return _verify_clocks(folder, say)
    print(say(Message("verify.different", {"run": analysis.run.id, "n": len(different)})))
    for path, before, after in different[:DIFFERENCES_SHOWN_MAX]:
        shown = {"path": literal(path), "before": _shown(before), "after": _shown(after)}
        print(f"  {say(Message('verify.difference', shown))}")
    return EXIT_FAILURE


def _verify_clocks(folder: Path, say: Say) -> int:
    """Return 0 when no offset that a phone posted contradicts its own probes. Runs without probes print nothing."""
    with Store.open(folder) as store:
        check = check_clocks(store.each_sample(), store.probes())
    if check.contradicted:
        print(say(Message("verify.clocks.contradicted", {"n": len(check.contradicted)})))
        for each in check.contradicted[:DIFFERENCES_SHOWN_MAX]:
            print(f"  {each}")
        return EXIT_FAILURE
    if check.count:
        posted_us, again_us = check.bound_us_p50
        bounds = {"again_ms": again_us / 1000, "posted_ms": posted_us / 1000}
        print(say(Message("verify.clocks.same", {"n": check.count, **bounds, "unknown": check.unknown})))
    return EXIT_OK


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + "..."


def _wording(written: Any) -> re.Pattern[str]:
    """Return the paths of what is not compared of `result.json`, by the version that wrote it."""
    match written:
        case {"headline": _, "run": {"version": version}} if version == VERSION:
            return WORDING
        case {"headline": _}:
            return WORDING_OF_ANOTHER_VERSION
    return WORDING_WITHOUT_HEADLINE


def differences(path: str, written: Any, computed: Any, wording: re.Pattern[str]) -> Any:
    """Yield path, written value and computed value of each figure or sentence that differs.

    `wording`: paths of what is not compared.
    """
    if isinstance(written, dict) and isinstance(computed, dict):
        for key in sorted({**written, **(computed if path.startswith(WHOLE) else {})}):
            place = f"{path}.{key}".lstrip(".")
            if key != NOTE and not wording.fullmatch(place):
                yield from differences(place, written.get(key), computed.get(key), wording)
    elif path.endswith("warnings") and isinstance(written, list) and isinstance(computed, list):
        if (before := _with_present_limits(written)) != (after := _with_present_limits(computed)):
            yield path, before, after
    elif isinstance(written, list) and isinstance(computed, list) and len(written) == len(computed):
        for index, (before, after) in enumerate(zip(written, computed, strict=True)):
            yield from differences(f"{path}[{index}]", before, after, wording)
    elif written != computed:
        yield path, written, computed


def _with_present_limits(warnings: list[Any]) -> list[Any]:
    """Return warnings, as in `result.json`, without the notes that another version may have given by other limits."""
    return [
        each
        for each in warnings
        if not (
            isinstance(each, dict)
            and each.get("severity") == "note"
            and each.get("code") in NOTES_OF_OTHER_LIMITS
        )
    ]
