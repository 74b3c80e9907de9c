"""Views of the room for a phone, the operator and the big screen."""

from __future__ import annotations

from typing import Any

from app.i18n import LANGUAGES
from app.server.room.notes import render_note
from app.server.room.participant import Participant
from app.server.room.phases import Phase
from app.server.room.room import Room
from app.server.room.trial import STATE_RUNNING

POLL_MS = {
    Phase.CLOSED: 5000,
    Phase.GATHERING: 1000,
    Phase.COUNTDOWN: 500,
    Phase.RUNNING: 500,
    Phase.PAUSED: 1000,
    Phase.FINISHED: 2000,
}
"""Polling interval by phase: short if a change is imminent."""

POLL_MS_PER_PHONE = 5
"""Limits a room of 200 phones to 200 polls a second, a fifth of a core; a class of 30 is not slowed down."""

POLL_MS_MAX = 60_000

SPREAD_MS = 20
"""Spreads the polls after a trial: each seat polls this much later than the one before."""


def assignment(room: Room, device: str) -> dict[str, Any]:
    """Return what `device` is to know and do."""
    with room.lock:
        participant = room.seats.get(device)
        is_in = participant is not None and participant.is_present
        result_url = (room.result or {}).get("results", {}).get(device)
        return {
            **_common(room),
            "poll_after_ms": poll_after_ms(room, participant),
            "you": {
                "device": device,
                "name": participant.name if participant else None,
                "seat": participant.seat if participant else None,
                "joined": is_in,
                "removed": room.was_removed(device),
            },
            "trial": room.current.trial.wire(device=device) if room.current.trial and is_in else None,
            "result_url": result_url,
        }


def poll_after_ms(room: Room, participant: Participant | None) -> int:
    """Return a phone's polling interval. During a trial it lasts to the trial's end, but a minute at most."""
    trial = room.current.trial
    if trial is None or trial.state != STATE_RUNNING or trial.ends_us is None:
        return max(POLL_MS[room.phase], POLL_MS_PER_PHONE * len(room.present()))
    seat = participant.seat if participant else 0
    left_ms = (trial.ends_us - room.now_us()) // 1000 + seat * SPREAD_MS
    return min(max(left_ms, POLL_MS[Phase.RUNNING]), POLL_MS_MAX)


def operator(room: Room, language: str = LANGUAGES[0]) -> dict[str, Any]:
    """Return everything, for the operator's page and the runner."""
    with room.lock:
        common, trial = _common(room), room.current.trial
        return {
            **common,
            "plan": dict(room.experiment.plan) if room.experiment else {},
            "participants": [_participant(room, each) for each in room.seats],
            "trial": None
            if trial is None
            else {**trial.public(), "topic": trial.topic, "participants": sorted(trial.participants)},
            "pause_wanted": room.phases.pause_wanted,
            "progress": _progress(room, language),
            "result": room.result,
        }


def screen(room: Room, language: str = LANGUAGES[0]) -> dict[str, Any]:
    """Return what everybody in the classroom may see: seats and names, but no device ids and no personal links."""
    with room.lock:
        common, trial = _common(room), room.current.trial
        seats = {each.device: each.seat for each in room.seats}
        return {
            **common,
            "poll_after_ms": poll_after_ms(room, None),
            "participants": [
                {name: value for name, value in _participant(room, each).items() if name != "device"}
                for each in room.present()
            ],
            "trial": None
            if trial is None
            else {
                **trial.public(),
                # A device that left while the room gathers has no seat any more.
                "seats": sorted(seats[device] for device in trial.participants if device in seats),
            },
            "progress": _progress(room, language),
            "result": None
            if room.result is None
            else {name: value for name, value in room.result.items() if name != "results"},
        }


def _common(room: Room) -> dict[str, Any]:
    """Return the common members. Must be called first: reading the phase may change it."""
    phase = room.phase
    experiment = room.experiment
    return {
        "version": room.version,
        "phase": phase,
        "run": room.practice_run or (experiment.run if experiment else None),
        "practice": room.practice_run is not None or (experiment is not None and experiment.practice),
        "server_us": room.now_us(),
        "joined_count": len(room.present()),
        "wanted_count": experiment.wanted_count if experiment else 0,
        "ready_count": room.ready_count(),
        "length_s": experiment.length_s if experiment else None,
        "round": room.current.progress.get("round"),
        "rounds": room.current.progress.get("rounds"),
        "remaining_s": room.current.progress.get("remaining_s"),
        "countdown_to_us": room.phases.countdown_to_us,
        "closed_because": room.closed_because,
    }


def _progress(room: Room, language: str) -> dict[str, Any]:
    """Return the runner's progress with its notes in the reader's language."""
    found = room.current.progress.get("notes") or []
    notes = [render_note(each, language=language, name_of=room.attendance.seat_name) for each in found]
    return {**room.current.progress, "notes": notes} if found else room.current.progress


def _participant(room: Room, each: Participant) -> dict[str, Any]:
    return {
        "device": each.device,
        "seat": each.seat,
        "name": each.name,
        "model": each.model,
        "checks": dict(each.checks),
        "ready": each.ready,
        "visible": each.visible,
        "awake": each.awake,
        "connected": each.connected,
        "away": room.is_away(each),
        "taking_part": each.taking_part,
        "clock_bound_ms": each.clock_bound_ms,
        "rtt_ms": each.rtt_ms,
        "jitter_ms": each.jitter_ms,
        "last_seen_us": each.last_seen_us,
        "trial_ready": each.trial_ready,
        "trial_done": each.trial_done,
        "disconnects": each.disconnects,
        "removed": each.removed,
        "left": each.left,
    }
