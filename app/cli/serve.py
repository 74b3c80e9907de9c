"""`./siar serve`: start the service for phones on the LAN, under gunicorn with our own worker class."""

from __future__ import annotations

import argparse
import os
import secrets
import ssl
import sys
from dataclasses import replace

from app import settings as settings_module
from app.cli import announcement, certificate, signals
from app.cli.first_look import first_look
from app.core.broker_url import parse_broker_url
from app.core.errors import Unfit
from app.i18n import LANGUAGES, Words, terminal_language
from app.paths import ROOT
from app.server.broker.make import check_broker
from app.settings import PREFIX, Settings, child_environment, environment_name
from app.tools.doctor.subject import subject_of

OPERATOR_KEY_BYTES = 16
"""128 random bits."""

HANDED_DOWN = (
    *("host", "port", "admin_token", "broker", "broker_ca", "workers", "operator_key", "language"),
    *("tls_cert", "tls_key", "tls_authority", "admin_over_http", "join_code"),
)
"""Settings that are decided by flags or by this command, and handed to gunicorn as environment variables."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `serve`; every other setting is a `SIAR_*` variable."""
    parser.add_argument(
        "--host", help="address to listen on (default: 0.0.0.0, every network of this machine)"
    )
    parser.add_argument("--port", type=int, help="TCP port (default: 8080)")
    parser.add_argument("--admin-token", metavar="T", help="the operator's token (default: random, printed)")
    parser.add_argument(
        "--broker",
        metavar="URL",
        help="where order and history live: memory:// (default), sqlite:///FILE, which outlives the server, "
        "or redis://HOST:PORT, which several share (rediss:// over TLS; SIAR_BROKER_CA: who vouches for it)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="server processes behind the port (default: 1); several need --broker redis://..., serve Socket.IO over "
        "WebSocket only, and leave rooms, experiments and the operator's page to servers of one",
    )
    certificate.add_arguments(parser)
    parser.add_argument(
        "--admin-over-http",
        action="store_true",
        default=None,
        help="let the operator sign in from other machines without HTTPS, where the network can read along",
    )
    parser.add_argument(
        "--join-code",
        action="store_true",
        default=None,
        help="phones also need the room's short code, which the big screen shows, to join",
    )
    parser.add_argument("--lang", choices=LANGUAGES, help="language of the terminal (default: the locale's)")
    parser.add_argument("--no-qr", action="store_true", help="no QR code in the terminal")
    parser.add_argument(
        "--no-check", action="store_true", help="do not look at the machine first (`siar doctor`)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Check the machine, print all links, then replace this process with gunicorn."""
    words = Words(terminal_language(os.environ, arguments.lang or os.environ.get("SIAR_LANGUAGE")))
    settings = settings_module.read(
        os.environ,
        host=arguments.host or os.environ.get("SIAR_HOST") or "0.0.0.0",
        port=arguments.port,
        admin_token=arguments.admin_token,
        broker=arguments.broker,
        workers=arguments.workers,
        operator_key=secrets.token_urlsafe(OPERATOR_KEY_BYTES),
        admin_over_http=arguments.admin_over_http,
        join_code=arguments.join_code,
        language=words.language,
    )
    _refuse_socket_activation()
    for name in ("GUNICORN_CMD_ARGS", "WEB_CONCURRENCY"):
        if name in os.environ:
            print(f"siar: {words.say('serve.not_read', name=name)}", file=sys.stderr)
    settings, findings = first_look(settings, words, check=not arguments.no_check)
    check_broker(settings)
    settings = _with_redis_ca(settings)
    settings, files = certificate.with_certificate(settings, arguments)
    subject = subject_of(settings)
    if not arguments.no_check:
        announcement.print_findings(findings, words)
    announcement.print_links(settings, subject, words, files=files, qr=not arguments.no_qr)
    sys.stdout.flush()
    environment = {
        **child_environment(os.environ),
        **{name: value for name, value in os.environ.items() if name.startswith(PREFIX)},
    }
    for name in HANDED_DOWN:
        environment[environment_name(name)] = str(getattr(settings, name))
    environment[environment_name("self_check")] = "0" if arguments.no_check else "1"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    if files is not None and files.trusted is not None:
        # For clients of this server over TLS: a runner and the self-check. The only other TLS connection is the one to
        # Redis, which keeps the system's file (`_with_redis_ca`).
        environment["SSL_CERT_FILE"] = str(files.trusted)
    command = [sys.executable, "-P", "-m", "gunicorn", "-c", str(ROOT / "gunicorn.conf.py"), "wsgi:app"]
    signals.by_default()
    os.execve(sys.executable, command, environment)


def _refuse_socket_activation() -> None:
    """Raise `Unfit` under systemd socket activation; else the port check would report systemd as another program."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        raise Unfit(
            "systemd hands over a listening socket (LISTEN_FDS), and serve opens its own: disable the .socket unit, or "
            "start gunicorn -c gunicorn.conf.py wsgi:app, which takes it."
        )


def _with_redis_ca(settings: Settings) -> Settings:
    """Return the settings with the system's CA file for a Redis over TLS.

    `SSL_CERT_FILE`, which is set later, would replace the system's default otherwise.
    """
    redis = parse_broker_url(settings.broker).redis
    if redis is None or not redis.tls or settings.broker_ca:
        return settings
    return replace(settings, broker_ca=ssl.get_default_verify_paths().cafile or "")
