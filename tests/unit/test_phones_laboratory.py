"""The laboratory with phones, in what it hands to the store."""

from __future__ import annotations

from app.core.clocksync.sync import Probe
from app.core.plan.classroom import classroom_plan
from app.core.plan.scenario import TrialSpec, schedule
from app.lab.run.api import Server
from app.lab.run.participant_pool import ParticipantPool, Phone
from app.lab.run.phones import Phones
from app.lab.run.room_api import ServerTime
from app.store.store import StampedProbe

PROBES = (StampedProbe("runner", "t", Probe(1, 2, 3, 4)),)


class KnownTime(ServerTime):
    """Nobody is asked."""

    def now_us(self) -> int:
        return 0


def phones_of_which_one_is_missing() -> Phones:
    """As `connect` leaves them when a phone did not get ready; the store is not reached."""
    server = Server("http://127.0.0.1:1", admin_token="t", clock_port=None, version={})
    pool = ParticipantPool([Phone(0, "d-1", "", None)], seed=1)
    found = Phones("run-1", classroom_plan(1, seed=1), server, pool, store=None, note=print)  # type: ignore[arg-type]
    found._time = KnownTime(server.url)
    found._chosen = found._missing = (0,)
    found._probes = PROBES
    return found


def test_the_probes_of_a_trial_that_did_not_begin_are_handed_over_once_though_it_has_an_idle_window() -> None:
    phones = phones_of_which_one_is_missing()
    block = next(iter(schedule(phones.plan)))

    idle = phones.idle(TrialSpec(0, block.block, 1, block.arms[0], idle=True))
    trial = phones.measure(TrialSpec(1, block.block, 1, block.arms[0]))

    assert (*idle.probes, *trial.probes) == PROBES
    assert [each.record.warnings[0].code for each in (idle, trial)] == ["phone_missing"] * 2
