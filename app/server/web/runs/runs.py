"""`/api/runs`: list, start, pause, stop, show, download, delete and restore runs. Operator only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Annotated, Any, Literal

import flask
import msgspec

from app.core.errors import Conflict, Malformed, Unknown
from app.core.plan.scenario import Plan
from app.i18n import refusal
from app.server.web import body, locale
from app.server.web.auth import require_operator
from app.server.web.current import services
from app.server.web.policy import POLICY
from app.server.web.runs import background_jobs, run_control
from app.server.wsgi.offload import blocking
from app.store.archive.folders import folder_of, read_file
from app.store.archive.summary import RunSummary, plan_of
from app.store.presets import PHONES_MAX, plan_by_fields, preset, preset_plan

blueprint = flask.Blueprint("runs", __name__, url_prefix="/api/runs")

START_BYTES_MAX = 16_384

REPORT_BYTES_MAX = 64 * 1024 * 1024

REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A stored report runs no scripts, loads nothing, and has an opaque origin, so that it cannot use our cookie."""

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
    """Restrict measurements to the operator."""
    require_operator()


@blueprint.get("")
def listed() -> flask.Response:
    """Return the runs, newest first."""
    language = locale.language()
    found = [run_control.with_live_state(each, language) for each in blocking(services().archive.newest)]
    return _json(run_control.with_running(found))


@blueprint.post("")
def start() -> flask.Response:
    """Start a runner. The status is 202, because phones have to gather first."""
    wanted = body.read(Start, bytes_max=START_BYTES_MAX)
    phones = _phones(wanted)
    plan = _plan(wanted, phones)
    if background_jobs.is_busy():
        raise Conflict(refusal("work_under_way"))
    run = run_control.start(plan, phones=phones)
    return body.answer(202, run=run, url=f"/api/runs/{run}")


@blueprint.get("/<run>")
def one(run: str) -> flask.Response:
    """Return a run's summary and plan, and its runner's state if this server started it."""
    runner = services().runners.of(run)
    plan = None if runner is None else runner.plan()
    try:
        summary = run_control.with_live_state(blocking(services().archive.one, run), locale.language())
        plan = plan or blocking(plan_of, folder_of(services().settings.runs_dir, run))
    except Unknown:
        if runner is None:
            raise
        summary = run_control.summary_of(runner)
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
    """Pause after the current trial."""
    run_control.pause(run)
    return body.answer(202, run=run)


@blueprint.post("/<run>/resume")
def resume(run: str) -> flask.Response:
    """End a pause."""
    run_control.resume(run)
    return body.answer(202, run=run)


@blueprint.post("/<run>/stop")
def stop(run: str) -> flask.Response:
    """End a run with what was measured so far."""
    run_control.stop(run)
    return body.answer(202, run=run)


@blueprint.delete("/<run>")
def delete(run: str) -> flask.Response:
    """Move a run into the trash, which keeps it for a week."""
    if run == services().run:
        raise Conflict(refusal("run_is_live"))
    if run_control.is_running(run):
        raise Conflict(refusal("run_under_way"))
    blocking(services().trash.add, run)
    return body.answer(run=run, restore_url=f"/api/runs/{run}/restore")


@blueprint.post("/<run>/restore")
def restore(run: str) -> flask.Response:
    """Restore a deleted run."""
    blocking(services().trash.restore, run)
    return body.answer(run=run)


@blueprint.get("/<run>/report")
def report(run: str) -> flask.Response:
    """Return the stored report, sandboxed."""
    return as_report(run)


def as_report(run: str) -> flask.Response:
    """Return a run's stored report as a response."""
    folder = folder_of(services().settings.runs_dir, run)
    page = blocking(read_file, folder / "report.html", bytes_max=REPORT_BYTES_MAX)
    return sandboxed(page)


def sandboxed(page: bytes) -> flask.Response:
    """Return a page made from measurements as a response whose policy permits nothing."""
    headers = {POLICY: REPORT_POLICY, **NO_STORE}
    return flask.Response(page, content_type="text/html; charset=utf-8", headers=headers)


@blueprint.get("/<run>/export.zip")
def export(run: str) -> flask.Response:
    """Return all measurements with pseudonyms and a manifest, as `./siar export` does."""
    return as_zip(run)


def as_zip(run: str) -> flask.Response:
    """Return a run's export as a response."""
    file, size_bytes = background_jobs.export_run(run)
    headers = {
        "Content-Disposition": f'attachment; filename="siar-{run}.zip"',
        "Content-Length": str(size_bytes),
        **NO_STORE,
    }
    response = flask.Response(_chunks(file), content_type="application/zip", headers=headers)
    response.call_on_close(file.close)
    return response


def _phones(wanted: Start) -> int | None:
    """Return the number of phones to wait for, or `None` for built-in clients."""
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
    """Return the downloads of a run, which depend on its state."""
    if summary.state not in ("complete", "incomplete"):
        return []
    return [{"name": name, "url": f"/api/runs/{summary.id}/{name}"} for name in ("report", "export.zip")]


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _json(value: object) -> flask.Response:
    return flask.Response(msgspec.json.encode(value), content_type=body.CONTENT_TYPE, headers=NO_STORE)
