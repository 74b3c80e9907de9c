"""A load run from its options to its folder: cores, processes, proof of the generator, trials, records."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from app.core.errors import Unfit
from app.core.plan.scenario import Arm, TrialSpec
from app.i18n import remark
from app.lab.analysis.validity.trial_warnings import texts
from app.lab.measure import host
from app.lab.run import server_process
from app.lab.run.api import Server
from app.lab.run.client_link import ClientLink
from app.lab.run.laboratory import Laboratory
from app.lab.run.progress import Progress
from app.lab.run.runner import Walk, clock_link, run_in_laboratory
from app.store import run_ids as naming
from app.store.store import RunHead, Store
from app.tools.bench.machine import Cores, choose_cores, kept_awake, raise_open_files
from app.tools.bench.own_redis import RedisHere, own_redis
from app.tools.load import trial_line
from app.tools.load.client_selector import LOCUST, ClientSelector
from app.tools.load.cpu_isolation import Sharing, cores_of, cores_of_servers, sharing
from app.tools.load.floor import proof_s, prove
from app.tools.load.generators import MODULE, GeneratorProcess, Generators
from app.tools.load.laboratory import LoadLaboratory
from app.tools.load.plan import LoadOrder
from app.tools.load.result import Kind
from app.tools.load.servers import find_server, preset_servers
from app.tools.load.shapes import breaks, shape_walk
from app.tools.load.trial_line import FloorLine, TrialLine
from app.tools.load.vps import MEMORY

EXTRA_FILES = 500
"""File descriptors that a process needs in addition to its users' (a generous estimate)."""

OVERHEAD_S = 2.0
"""Duration of a trial in addition to connecting and the plan's own times: merging and writing records."""

PROOF_TRIES = 3
"""Number of attempts at a proof. A machine may stall for a few seconds; one that always does is not fit."""


@dataclass(slots=True)
class LoadRun:
    """One load run and its state."""

    order: LoadOrder
    runs_dir: Path
    run_id: str
    progress: Progress
    given: Mapping[str, str]
    """The user's own `SIAR_*` variables."""
    cores: Cores = field(default_factory=choose_cores)
    lines: list[TrialLine] = field(default_factory=list)
    _proved: set[tuple[int, int, str]] = field(default_factory=set)
    """Combinations of block, users and transport whose floor has been measured."""

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.runs_dir / self.run_id

    def execute(self) -> Path:
        """Execute the run. Returns its folder. Raises `Unfit` and the exceptions of `run_in_laboratory`."""
        self._check_files()
        with ExitStack() as stack:
            is_awake = stack.enter_context(kept_awake())
            usable = os.sched_getaffinity(0) if sys.platform == "linux" else set[int]()
            server, others, redis = self._servers(stack)
            self._leave_server_core(usable)
            generators = Generators(
                [stack.enter_context(GeneratorProcess(module=MODULE)) for _ in range(self.order.processes)]
            )
            head, walk = self._head(server, is_awake=is_awake), self._walk()

            def laboratory(_store: Store) -> contextlib.AbstractContextManager[Laboratory]:
                return self._laboratory(server, generators, others, redis)

            if walk is None:
                return run_in_laboratory(head, self.folder, laboratory, self.progress)
            return run_in_laboratory(head, self.folder, laboratory, self.progress, walk=walk)

    def _servers(self, stack: ExitStack) -> tuple[Server, dict[str, Server], RedisHere | None]:
        """Return the server of arms that name none, the servers that arms name, and their Redis."""
        if self.order.preset is None:
            return self._server(stack), {}, None
        redis = stack.enter_context(own_redis(self.cores))
        servers = stack.enter_context(
            preset_servers(redis, self.cores, runs_dir=self.runs_dir, settings=self.given)
        )
        return servers[MEMORY], servers, redis

    def _server(self, stack: ExitStack) -> Server:
        """Return the given server, or start our own on a core of its own."""
        if self.order.url is not None:
            return find_server(self.order.url, admin_token=self.order.admin_token or "")
        with self.cores.on_server_core():
            started = stack.enter_context(
                server_process.start(runs_dir=self.runs_dir, settings={**self.given, "SIAR_RECORDER": "0"})
            )
        return started.server

    def _leave_server_core(self, usable: set[int]) -> None:
        """Keep this process and its future children off the server's core."""
        if self.cores.server is not None and self.order.url is None and sys.platform == "linux":
            os.sched_setaffinity(0, usable - {self.cores.server})

    def _sharing(self, server: Server, others: Mapping[str, Server], generators: Generators) -> Sharing:
        """Return the overlap of cores between the servers and the generators."""
        found = sharing(cores_of_servers((server, *others.values())), cores_of(generators.pids))
        if found is Sharing.MAY:
            self.progress.note(remark("may_share_core"))
        return found

    def _check_files(self) -> None:
        users = max(self.order.plan.client_counts)
        files = raise_open_files()
        if users + EXTRA_FILES > files:
            raise Unfit(
                f"{users:,} users need {users + EXTRA_FILES:,} open files, and this user may have {files:,} "
                "(ulimit -Hn). Raise that limit, or name fewer with --users."
            )

    def _head(self, server: Server, *, is_awake: bool) -> RunHead:
        order = self.order
        return RunHead(
            id=self.run_id,
            started=naming.utc_now(),
            plan=order.plan,
            conditions={
                **host.conditions(settings=self.given, server=server.version),
                "clock_channel": server.clock_channel,
                "load": {
                    "generator_processes": order.processes,
                    "spawn_rate_per_s": order.spawn_rate,
                    "server_core": None if order.url is not None else self.cores.server,
                    "processors_kept_awake": is_awake,
                    "delays_until": "the kernel's receive stamp",
                    **({"preset": order.preset} if order.preset else {}),
                },
            },
        )

    @contextlib.contextmanager
    def _laboratory(
        self,
        server: Server,
        generators: Generators,
        others: Mapping[str, Server],
        redis: RedisHere | None,
    ) -> Iterator[Laboratory]:
        order = self.order
        trial_line.append(
            self.folder,
            {
                "kind": "load",
                "schema": trial_line.SCHEMA,
                "shape": order.kind.value,
                "preset": order.preset,
                "gates": [str(each) for each in order.gates],
                "spawn_rate": order.spawn_rate,
                "processes": order.processes,
            },
        )
        with clock_link(server, lambda: False) as (link, clock):
            if self.order.stages:
                self.progress.note(remark("floor_first"))
                self._prove(generators, link.pause)
            selector = ClientSelector(link, generators, order.spawn_rate)
            laboratory = LoadLaboratory(
                self.run_id,
                order.plan,
                server,
                cast("ClientLink", selector),  # promises what the trials use of one
                clock,
                others=others,
                selector=selector,
                on_trial=self._keep,
                before_users=lambda spec: self._prove_in_block(spec, generators, link.pause),
                sharing=self._sharing(server, others, generators),
                redis=redis,
                on_probes=lambda line: trial_line.append(self.folder, line.to_json()),
            )
            counts = order.stages or order.plan.client_counts
            connecting_s = sum(counts) / len(counts) / order.spawn_rate
            laboratory.overhead_s = connecting_s + OVERHEAD_S
            if not order.stages:
                laboratory.overhead_s += connecting_s + proof_s(order.plan.rate_hz)
            yield laboratory

    def _prove(self, generators: Generators, pause: Callable[[float], None]) -> None:
        """Prove the generator at every level and transport before a shape, which visits each level only once."""
        plan = self.order.plan
        for users in sorted(plan.client_counts):
            if self.order.kind is Kind.RAMP and users > min(plan.client_counts):
                return  # The generator's own limit is a part of a ramp's result.
            for transport in sorted({arm.transport for arm in plan.arms if _is_on_trial(arm)}):
                self._keep_floor(self._floor(generators, pause, transport, users))

    def _prove_in_block(
        self, spec: TrialSpec, generators: Generators, pause: Callable[[float], None]
    ) -> None:
        """Prove the generator in a trial's block, with the users and transport that the trial is about to have.

        This is done once per block and transport: arms that differ only by their server share the floor.
        """
        place = (spec.block, spec.clients, spec.arm.transport)
        if not self.order.stages and _is_on_trial(spec.arm) and place not in self._proved:
            self._proved.add(place)
            line = self._floor(generators, pause, spec.arm.transport, spec.clients)
            self._keep_floor(replace(line, block=spec.block))

    def _keep_floor(self, line: FloorLine) -> None:
        for each in line.warnings:
            why = texts(each)["text"]
            self.progress.note(
                remark("floor", arm=line.transport, users=line.users, why=why, why_code=each.code)
            )
        trial_line.append(self.folder, line.to_json())

    def _floor(
        self, generators: Generators, pause: Callable[[float], None], transport: str, users: int
    ) -> FloorLine:
        """Measure the floor. Returns the first attempt without trouble, or the last one."""
        tries = (
            prove(
                generators,
                self.cores,
                transport=transport,
                users=users,
                rate_hz=self.order.plan.rate_hz,
                spawn_rate=self.order.spawn_rate,
                pause=pause,
            )
            for _ in range(PROOF_TRIES)
        )
        line = next(tries)
        while line.warnings and (again := next(tries, None)) is not None:
            line = again
        return line

    def _keep(self, line: TrialLine) -> None:
        self.lines.append(line)
        trial_line.append(self.folder, line.to_json())

    def _walk(self) -> Walk | None:
        """Return the stages of a shape as a walk; `None` for blocks."""
        order = self.order
        if order.kind is Kind.RAMP:
            return shape_walk(order.stages, until_broken=breaks(order.gates, self.lines))
        return shape_walk(order.stages) if order.stages else None


def _is_on_trial(arm: Arm) -> bool:
    """Return whether a floor is needed: not for polling, which the minimal server lacks, nor for built-in clients."""
    return arm.factors.get("generator") == LOCUST and not arm.factors.get("polling")
