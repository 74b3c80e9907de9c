"""The application factory."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import flask

from app import clock as system_clock
from app import settings as settings_module
from app.clock import Clock
from app.core.sentence import Sentence
from app.paths import ROOT
from app.server.broker.base import Broker
from app.server.registry import REGISTERED
from app.server.services import Services, build
from app.server.transports.base import WsgiApp
from app.server.web import errors, shared_broker
from app.server.web.current import KEY
from app.server.web.devices import assignment, deliveries, devices, participants, self_test
from app.server.web.guard import Guard
from app.server.web.loading import LOADING_SCRIPT
from app.server.web.one_process import OneProcess
from app.server.web.operator import operator_pages, sessions
from app.server.web.policy import Policy
from app.server.web.publish import notifications, receipts
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


def create_app(
    settings: Settings | None = None, *, broker: Broker | None = None, clock: Clock | None = None
) -> SiarApp:
    """Create a service with its own connections. Without `settings`, read them from the environment.

    `broker` replaces the one that the settings name. `clock` replaces the system's for rate limits, throttles, operators'
    sessions, the room and runners. Fan-out, trials, the broker and the spool read `app.clock` themselves: their stamps must
    be comparable between processes.
    """
    if settings is None:
        settings = settings_module.read(os.environ)
    if settings.anchor_us is not None:
        system_clock.fix(anchor_us=settings.anchor_us, timebase=settings.timebase)
    _set_log_level(settings.log_level)
    refused = gunicorn_master.check_start(settings)
    app = SiarApp("app", root_path=str(ROOT), template_folder="templates", static_folder="static")
    app.config["MAX_CONTENT_LENGTH"] = 0  # Each view that reads a body sets its own limit.
    app.jinja_env.globals["loading_script"] = LOADING_SCRIPT
    app.json.sort_keys = False  # type: ignore[attr-defined]
    services = build(settings, broker=broker, clock=clock or system_clock)
    app.extensions[KEY] = services
    for transport in REGISTERED:
        transport.attach(app, services)
    errors.register(app)
    shared_broker.register(app, workers=settings.workers)
    for view in (
        pages,
        assets,
        operator_pages,
        authority,
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
    for wrap in _wsgi_wrappers(services, refused):
        app.wsgi_app = wrap(app.wsgi_app)  # type: ignore[method-assign, assignment]
    metrics.publish_counters(services)
    return app


def _wsgi_wrappers(services: Services, refused: Sentence | None) -> list[Callable[[WsgiApp], WsgiApp]]:
    """Return the WSGI middleware around the Flask application, innermost first: a request passes it from the end."""
    settings = services.settings
    return [
        # Next to Flask: its pages need security headers, while Socket.IO's polling responses stay short.
        lambda app: Policy(app, clock_port=settings.clock_port),
        # Around Flask and its headers: Socket.IO's requests go to the library without becoming Flask requests.
        *(transport.wrap for transport in services.transports.values()),
        # Around both: foreign origins and hosts are refused for Socket.IO too, and both see the forwarded address and path.
        lambda app: Guard(
            app,
            allowed_hosts=settings.allowed_hosts,
            requests=services.requests,
            trusted_proxies=settings.trusted_proxies,
            prefix=settings.prefix,
            topics_max=settings.topics_per_client_max,
        ),
        # Outermost: under an unfit server nothing is served, whatever the request says, and nothing is counted.
        lambda app: OneProcess(app, workers=settings.workers, refused=refused),
    ]


def _set_log_level(level: str) -> None:
    """Set the level of our own loggers, to which gunicorn does not apply the setting."""
    ours = logging.getLogger("siar")
    ours.setLevel(level.upper())
    if not ours.hasHandlers():
        handler = logging.StreamHandler()
        form = "%(asctime)s [%(process)d] [%(levelname)s] %(message)s"
        handler.setFormatter(logging.Formatter(form, "[%Y-%m-%d %H:%M:%S %z]"))
        ours.addHandler(handler)
