"""`/api/runs`: list, start, pause, stop, open, take away, delete with undo. Operator only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Annotated, Any, Literal

import flask
import msgspec

from app.store.archive.folders import folder_of, read_file
from app.store.archive.summary import RunSummary, plan_of
from app.i18n import refusal
from app.core.errors import Conflict, Malformed, Unknown
from app.core.plan.scenario import Plan
from app.store.presets import PHONES_MAX, plan_by_fields, preset, preset_plan
from app.server.wsgi.offload import blocking
from app.server.web import body, locale
from app.server.web.runs import background_jobs, run_control
from app.server.web.auth import require_operator
from app.server.web.current import services
from app.server.web.policy import POLICY

blueprint = flask.Blueprint("runs", __name__, url_prefix="/api/runs")

START_BYTES_MAX = 16_384

REPORT_BYTES_MAX = 64 * 1024 * 1024

REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A stored report runs nothing, asks for nothing, and is of no origin: not of ours, whose cookie it must not use."""

CHUNK_BYTES = 65_536

NO_STORE = {"Cache-Control": "no-store"}


class Start(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a start: a preset or a plan, with phones or built-in clients."""

    preset: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    plan: dict[str, Any] | None = None
    phones: Annotated[int, msgspec.Meta(ge=1, le=PHONES_MAX)] | None = None
    clients: Literal["built-in"] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] | None = None


@blueprint.before_request
def operator_only() -> None:
    """What was measured is the operator's."""
    require_operator()


@blueprint.get("")
def listed() -> flask.Response:
    """The runs, newest first."""
    language = locale.language()
    found = [run_control.as_it_is(each, language) for each in blocking(services().archive.newest)]
    return _json(run_control.with_running(found))


@blueprint.post("")
def start() -> flask.Response:
    """Start a runner: 202, since phones have to gather first."""
    wanted = body.read(Start, bytes_max=START_BYTES_MAX)
    phones = _phones(wanted)
    plan = _plan(wanted, phones)
    if background_jobs.is_busy():
        raise Conflict(refusal("work_under_way"))
    run = run_control.start(plan, phones=phones)
    return body.answer(202, run=run, url=f"/api/runs/{run}")


@blueprint.get("/<run>")
def one(run: str) -> flask.Response:
    """A run's line and plan, and how its runner is, if this server started it."""
    runner = services().runners.of(run)
    plan = None if runner is None else runner.plan()
    try:
        summary = run_control.as_it_is(blocking(services().archive.one, run), locale.language())
        plan = plan or blocking(plan_of, folder_of(services().settings.runs_dir, run))
    except Unknown:
        if runner is None:
            raise
        summary = run_control.line_of(runner)
    return _json(
        {
            **msgspec.to_builtins(summary),
            "plan": plan,
            "runner": None if runner is None else runner.to_json(locale.language()),
            "downloads": _downloads(summary),
        }
    )


@blueprint.post("/<run>/pause")
def pause(run: str) -> flask.Response:
    """Pause when the present trial is over."""
    run_control.pause(run)
    return body.answer(202, run=run)


@blueprint.post("/<run>/resume")
def resume(run: str) -> flask.Response:
    """Go on after a pause."""
    run_control.resume(run)
    return body.answer(202, run=run)


@blueprint.post("/<run>/stop")
def stop(run: str) -> flask.Response:
    """End with what was measured until now."""
    run_control.stop(run)
    return body.answer(202, run=run)


@blueprint.delete("/<run>")
def delete(run: str) -> flask.Response:
    """Move a run into the trash, where it is kept for a week."""
    if run == services().run:
        raise Conflict(refusal("run_is_live"))
    if run_control.is_running(run):
        raise Conflict(refusal("run_under_way"))
    blocking(services().trash.add, run)
    return body.answer(run=run, restore_url=f"/api/runs/{run}/restore")


@blueprint.post("/<run>/restore")
def restore(run: str) -> flask.Response:
    """Bring a deleted run back."""
    blocking(services().trash.restore, run)
    return body.answer(run=run)


@blueprint.get("/<run>/report")
def report(run: str) -> flask.Response:
    """The stored report, under a policy that lets it do nothing."""
    return as_report(run)


def as_report(run: str) -> flask.Response:
    """The stored report of a run as an answer."""
    folder = folder_of(services().settings.runs_dir, run)
    page = blocking(read_file, folder / "report.html", bytes_max=REPORT_BYTES_MAX)
    return sandboxed(page)


def sandboxed(page: bytes) -> flask.Response:
    """A page that was made of measurements, under a policy that lets it do nothing."""
    headers = {POLICY: REPORT_POLICY, **NO_STORE}
    return flask.Response(page, content_type="text/html; charset=utf-8", headers=headers)


@blueprint.get("/<run>/export.zip")
def export(run: str) -> flask.Response:
    """Everything that was measured, under pseudonyms: what `./siar export` makes, with its manifest."""
    return as_zip(run)


def as_zip(run: str) -> flask.Response:
    """The export of a run as an answer."""
    file, size_bytes = background_jobs.exported(run)
    headers = {
        "Content-Disposition": f'attachment; filename="siar-{run}.zip"',
        "Content-Length": str(size_bytes),
        **NO_STORE,
    }
    response = flask.Response(_chunks(file), content_type="application/zip", headers=headers)
    response.call_on_close(file.close)
    return response


def _phones(wanted: Start) -> int | None:
    """How many phones to wait for; `None`: built-in clients."""
    is_built_in = wanted.clients is not None or (wanted.preset is not None and preset(wanted.preset).built_in)
    if is_built_in and wanted.phones is not None:
        raise Malformed(refusal("clients_or_phones"))
    if is_built_in:
        return None
    if wanted.phones is None:
        raise Malformed(refusal("phones_missing"))
    return wanted.phones


def _plan(wanted: Start, phones: int | None) -> Plan:
    if (wanted.preset is None) == (wanted.plan is None):
        raise Malformed(refusal("preset_or_plan"))
    seed = run_control.seed_or_random(wanted.seed)
    if wanted.plan is not None:
        return plan_by_fields(wanted.plan, phones=phones, seed=seed)
    plan = preset_plan(wanted.preset or "", phones=phones or 6, seed=seed)
    return plan if phones is not None else replace(plan, environment="loopback")


def _downloads(summary: RunSummary) -> list[dict[str, str]]:
    """What can be opened or taken away of a run that has come so far."""
    if summary.state not in ("complete", "incomplete"):
        return []
    return [{"name": name, "url": f"/api/runs/{summary.id}/{name}"} for name in ("report", "export.zip")]


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _json(value: object) -> flask.Response:
    return flask.Response(msgspec.json.encode(value), content_type=body.CONTENT_TYPE, headers=NO_STORE)
