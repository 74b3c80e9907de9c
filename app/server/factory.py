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
    """The Flask application with the hook that our gunicorn worker calls at the end."""

    @property
    def services(self) -> Services:
        """Return the components of this server."""
        return self.extensions[KEY]  # type: ignore[no-any-return]

    def drain(self) -> None:
        """Begin closing every connection; the worker calls this after it has stopped accepting."""
        self.services.drain()

    def is_drained(self) -> bool:
        """Return whether everything has been written to the connections that are closing."""
        return self.services.is_drained()


def create_app(settings: Settings | None = None) -> SiarApp:
    """Create a service with its own broker and connections. Without `settings`, read them from the environment."""
    if settings is None:
        settings = settings_module.read(os.environ)
    if settings.anchor_us is not None:
        clock.fix(anchor_us=settings.anchor_us, timebase=settings.timebase)
    _set_log_level(settings.log_level)
    refused = gunicorn_master.check_start(settings)
    app = SiarApp("app", root_path=str(ROOT), template_folder="templates", static_folder="static")
    app.config["MAX_CONTENT_LENGTH"] = 0  # Each view that reads a body sets its own limit.
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.wsgi_app = Policy(app.wsgi_app, clock_port=settings.clock_port)  # type: ignore[method-assign]
    services = build(app, settings)  # Also puts Socket.IO's middleware around the application.
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
    metrics.publish_counters(services)
    return app


def _set_log_level(level: str) -> None:
    """Set the level of our own loggers, to which gunicorn does not apply the setting."""
    ours = logging.getLogger("siar")
    ours.setLevel(level.upper())
    if not ours.hasHandlers():
        handler = logging.StreamHandler()
        form = "%(asctime)s [%(process)d] [%(levelname)s] %(message)s"
        handler.setFormatter(logging.Formatter(form, "[%Y-%m-%d %H:%M:%S %z]"))
        ours.addHandler(handler)
