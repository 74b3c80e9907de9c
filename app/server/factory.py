"""The application factory."""

from __future__ import annotations

import logging
import os

import flask

from app import clock
from app import settings as settings_module
from app.paths import ROOT
from app.server.services import Services, build
from app.server.web import errors, shared_broker
from app.server.web.current import KEY
from app.server.web.devices import assignment, deliveries, devices, participants, self_test
from app.server.web.guard import Guard
from app.server.web.one_process import OneProcess
from app.server.web.operator import operator_pages, sessions
from app.server.web.policy import Policy
from app.server.web.publish import events, notifications, receipts
from app.server.web.room import room, screen_data, screen_downloads
from app.server.web.runs import comparisons, presets, runs, trials
from app.server.web.service import assets, authority, metrics, openapi, pages, probes
from app.server.wsgi import gunicorn_master
from app.settings import Settings


class SiarApp(flask.Flask):
    """Flask, with what our worker asks for at the end."""

    @property
    def services(self) -> Services:
        """The parts of this server."""
        return self.extensions[KEY]  # type: ignore[no-any-return]

    def drain(self) -> None:
        """Say goodbye to every client; the worker calls it when it has stopped accepting."""
        self.services.drain()

    def is_drained(self) -> bool:
        """Whether every goodbye has been written."""
        return self.services.is_drained()


def create_app(settings: Settings | None = None) -> SiarApp:
    """A service with its own broker and connections. `None`: settings from the environment."""
    if settings is None:
        settings = settings_module.read(os.environ)
    if settings.anchor_us is not None:
        clock.fix(anchor_us=settings.anchor_us, timebase=settings.timebase)
    _say(settings.log_level)
    refused = gunicorn_master.check_start(settings)
    app = SiarApp("app", root_path=str(ROOT), template_folder="templates", static_folder="static")
    app.config["MAX_CONTENT_LENGTH"] = 0  # each view that takes a body says how long it may be
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.wsgi_app = Policy(app.wsgi_app, clock_port=settings.clock_port)  # type: ignore[method-assign]
    services = build(app, settings)  # puts Socket.IO's middleware around it
    app.extensions[KEY] = services
    errors.register(app)
    shared_broker.register(app, workers=settings.workers)
    for view in (
        pages,
        assets,
        operator_pages,
        authority,
        events,
        notifications,
        deliveries,
        trials,
        sessions,
        presets,
        runs,
        probes,
        openapi,
        room,
        participants,
        assignment,
        devices,
        receipts,
        screen_data,
        screen_downloads,
        comparisons,
        self_test,
    ):
        app.register_blueprint(view.blueprint)
    app.wsgi_app = Guard(  # type: ignore[method-assign]
        app.wsgi_app,
        allowed_hosts=settings.allowed_hosts,
        requests=services.requests,
        trusted_proxies=settings.trusted_proxies,
        prefix=settings.prefix,
    )
    app.wsgi_app = OneProcess(app.wsgi_app, workers=settings.workers, refused=refused)  # type: ignore[method-assign]
    metrics.put_up(services)
    return app


def _say(level: str) -> None:
    """Let our own loggers say what the setting asks for: gunicorn applies it to its own only."""
    ours = logging.getLogger("siar")
    ours.setLevel(level.upper())
    if not ours.hasHandlers():
        handler = logging.StreamHandler()
        form = "%(asctime)s [%(process)d] [%(levelname)s] %(message)s"
        handler.setFormatter(logging.Formatter(form, "[%Y-%m-%d %H:%M:%S %z]"))
        ours.addHandler(handler)
