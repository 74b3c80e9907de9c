"""A load run from its order to its folder: cores, processes, proof of the generator, trials, lines beside the store."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from app.bench.machine import Cores, choose_cores, raise_open_files
from app.core.errors import Unfit
from app.experiment import api, naming, server_process
from app.experiment.api import Server
from app.experiment.client_link import ClientLink
from app.experiment.laboratory import Laboratory
from app.experiment.progress import Progress
from app.experiment.runner import Walk, clock_link, run_in_laboratory
from app.load import trial_line
from app.load.floor import prove
from app.load.generators import MODULE, GeneratorProcess, Generators
from app.load.laboratory import LoadLaboratory
from app.load.plan import LoadOrder
from app.load.result import Kind
from app.load.shapes import breaks, shape_walk
from app.load.switch import LOCUST, Switch
from app.load.trial_line import FloorLine, TrialLine
from app.measure import host
from app.measure.store import RunHead, Store
from app.settings import is_loopback

FILES_BESIDE = 500
"""Descriptors that a process needs beside its users, generously."""

OVERHEAD_S = 2.0
"""What a trial takes beside connecting and the plan's own times: putting columns together, writing them."""

PROOF_TRIES = 3
"""A machine may hiccup in five seconds; one that always does is not fit."""


@dataclass(slots=True)
class LoadRun:
    """One run under way."""

    order: LoadOrder
    runs_dir: Path
    run_id: str
    progress: Progress
    given: Mapping[str, str]
    """The user's own `SIAR_*`."""
    cores: Cores = field(default_factory=choose_cores)
    lines: list[TrialLine] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where everything goes."""
        return self.runs_dir / self.run_id

    def execute(self) -> Path:
        """Do it; the folder. Raises `Unfit` and what `run_in_laboratory` raises."""
        self._check_files()
        with ExitStack() as stack:
            usable = os.sched_getaffinity(0) if sys.platform == "linux" else set[int]()
            server = self._server(stack)
            self._go_aside(usable)
            generators = Generators(
                [stack.enter_context(GeneratorProcess(module=MODULE)) for _ in range(self.order.processes)]
            )
            head, walk = self._head(server), self._walk()

            def laboratory(_store: Store) -> contextlib.AbstractContextManager[Laboratory]:
                return self._laboratory(server, generators)

            if walk is None:
                return run_in_laboratory(head, self.folder, laboratory, self.progress)
            return run_in_laboratory(head, self.folder, laboratory, self.progress, walk=walk)

    def _server(self, stack: ExitStack) -> Server:
        """The one that was given, or one of our own on a core of its own."""
        if self.order.url is not None:
            return api.find_server(self.order.url, admin_token=self.order.admin_token or "")
        with self.cores.on_server_core():
            started = stack.enter_context(
                server_process.start(runs_dir=self.runs_dir, settings={**self.given, "SIAR_RECORDER": "0"})
            )
        return started.server

    def _go_aside(self, usable: set[int]) -> None:
        """This process and what it starts from now on: on all usable cores but the server's."""
        if self.cores.server is not None and self.order.url is None and sys.platform == "linux":
            os.sched_setaffinity(0, usable - {self.cores.server})

    def _check_files(self) -> None:
        users = max(self.order.plan.client_counts)
        files = raise_open_files()
        if users + FILES_BESIDE > files:
            raise Unfit(
                f"{users:,} users need {users + FILES_BESIDE:,} open files, and this user may have {files:,} "
                "(ulimit -Hn). Raise that limit, or name fewer with --users."
            )

    def _head(self, server: Server) -> RunHead:
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
                    "server_core": self.cores.server,
                    "delays_until": "the kernel's receive stamp",
                },
            },
        )

    @contextlib.contextmanager
    def _laboratory(self, server: Server, generators: Generators) -> Iterator[Laboratory]:
        order = self.order
        trial_line.append(
            self.folder,
            {
                "kind": "load",
                "schema": trial_line.SCHEMA,
                "shape": order.kind.value,
                "gates": [str(each) for each in order.gates],
                "spawn_rate": order.spawn_rate,
                "processes": order.processes,
            },
        )
        with clock_link(server, lambda: False) as (link, clock):
            self._prove(generators, link.pause)
            switch = Switch(link, generators, order.spawn_rate)
            laboratory = LoadLaboratory(
                self.run_id,
                order.plan,
                server,
                cast("ClientLink", switch),  # promises what the trials use of one
                clock,
                switch=switch,
                on_trial=self._keep,
                shares_core=is_loopback(server.host) and not self.cores.are_apart,
            )
            counts = order.stages or order.plan.client_counts
            laboratory.overhead_s = sum(counts) / len(counts) / order.spawn_rate + OVERHEAD_S
            yield laboratory

    def _prove(self, generators: Generators, pause: Callable[[float], None]) -> None:
        """The generator against a neutral source, at every level and transport of the plan."""
        plan = self.order.plan
        self.progress.note("First the generator proves itself against a neutral source.")
        arms = {
            arm.transport
            for arm in plan.arms
            # The neutral source does not answer polls, and built-in clients are not on trial.
            if arm.factors.get("generator") == LOCUST and not arm.factors.get("polling")
        }
        for users in sorted(plan.client_counts):
            if self.order.kind is Kind.RAMP and users > min(plan.client_counts):
                return  # How far the generator goes is a part of what a ramp finds out.
            for transport in sorted(arms):
                line = self._floor(generators, pause, transport, users)
                for trouble in line.troubles:
                    self.progress.note(f"Floor, {transport} with {users} users: {trouble}")
                trial_line.append(self.folder, line.to_json())

    def _floor(
        self, generators: Generators, pause: Callable[[float], None], transport: str, users: int
    ) -> FloorLine:
        """The first try without trouble, or the last one."""
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
        while line.troubles and (again := next(tries, None)) is not None:
            line = again
        return line

    def _keep(self, line: TrialLine) -> None:
        self.lines.append(line)
        trial_line.append(self.folder, line.to_json())

    def _walk(self) -> Walk | None:
        """The stages of a shape; `None` for blocks."""
        order = self.order
        if order.kind is Kind.RAMP:
            return shape_walk(order.stages, until_broken=breaks(order.gates, self.lines))
        return shape_walk(order.stages) if order.stages else None
