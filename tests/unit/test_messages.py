"""A message is text in a reader's language, with figures as that language writes them."""

from __future__ import annotations

import json

import pytest

from app.core.messages import Message
from app.core.trial import Severity, TrialWarning
from app.i18n import text
from app.lab.analysis.validity.trial_warnings import advice, seen


@pytest.mark.parametrize(
    ("key", "args", "english", "indonesian"),
    [
        (
            "warning.source_late",
            {"lag_ms": 9.0, "limit_ms": 5.0},
            "The source was late itself: p99 9.000 ms, limit 5.000 ms.",
            "Sumbernya sendiri terlambat: p99 9,000 ms, batas 5,000 ms.",
        ),
        (
            "warning.cpu_window_late",
            {"late_ms": 3.14159},
            "The CPU window opened 3.1 ms after the first notification was due.",
            "Jendela CPU terbuka 3,1 ms sesudah notifikasi pertama seharusnya dikirim.",
        ),
        (
            "warning.disconnected",
            {"count": 1},
            "1 connection broke during the trial.",
            "1 sambungan putus selama putaran.",
        ),
        (
            "warning.samples_left_out",
            {"delivered": 9, "left_out": {"hidden": 2, "replay": 1, "eclipse": 4}},
            "Of 9 arrivals some have no usable delay: 2 while hidden, 1 replayed and 4 eclipse.",
            "Dari 9 kedatangan sebagian tidak punya tundaan yang dapat dipakai: 2 saat tersembunyi, 1 putar ulang dan "
            "4 eclipse.",
        ),
        (
            "warning.phone_silent",
            {"phones": ("P1", "P2", "P3")},
            "P1, P2 and P3 did not say how the trial went.",
            "P1, P2 dan P3 tidak mengabarkan bagaimana putaran berjalan.",
        ),
        (
            "warning.note.many",
            {"code": "x", "trials": (1, 4), "first": 1, "text": Message("warning.cpu_coarse")},
            "note x (trials 1 and 4), as in 1: CPU time was counted in ticks of 10 ms, which cannot resolve single "
            "notifications.",
            "catatan x (putaran 1 dan 4), seperti pada 1: Waktu CPU dihitung dalam detak 10 ms, yang tidak dapat "
            "memisahkan satu notifikasi.",
        ),
    ],
)
def test_a_message_is_text_in_each_language(
    key: str, args: dict[str, object], english: str, indonesian: str
) -> None:
    assert text(Message(key, args), "en") == english
    assert text(Message(key, args), "id") == indonesian


@pytest.mark.parametrize(
    ("code", "args", "shown"),
    [
        ("of_a_later_version", {"n": 1}, "This version has no sentence for it."),
        ("cpu_window_late", {}, "The CPU window opened - ms after the first notification was due."),
        ("cpu_window_late", {"late_ms": "{0.__class__}"}, "The CPU window opened {0.__class__} ms after"),
        ("cpu_window_late", {"late_ms": 3}, "The CPU window opened 3 ms after"),
        ("disconnected", {"count": 1.5}, "1.500 broke during the trial."),
        (
            "samples_left_out",
            {"delivered": 1, "left_out": 2.5},
            "Of 1 arrivals some have no usable delay: 2.500.",
        ),
        ("disconnected", {"count": ["a", {}]}, "a and  broke during the trial."),
    ],
)
def test_a_warning_of_a_run_from_elsewhere_is_shown_whatever_its_arguments(
    code: str, args: dict[str, object], shown: str
) -> None:
    warning = TrialWarning(code, Severity.NOTE, json.loads(json.dumps(args)))

    assert text(seen(warning), "en").startswith(shown)
    assert text(advice(warning), "id")
