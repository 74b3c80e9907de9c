"""`./siar run --phones N`: serve the LAN, wait for phones, measure with them, write the report, exit."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from dataclasses import replace

from app import clock
from app import settings as settings_module
from app.cli import announcement, certificate, measuring
from app.cli.first_look import first_look
from app.cli.output import OutputLost
from app.cli.serve import OPERATOR_KEY_BYTES
from app.core.errors import Malformed, SiarError
from app.core.exit_codes import EXIT_FAILURE, EXIT_INTERRUPTED
from app.core.plan.classroom import classroom_plan, length_s, with_phones
from app.core.plan.scenario import Plan
from app.core.wire import TRANSPORTS
from app.i18n import Words
from app.lab.run import server_process
from app.lab.run.api import Server
from app.lab.run.progress import duration
from app.lab.run.room_run import RoomRun
from app.lab.run.terminal_progress import for_stream
from app.server.tls.keep import Files
from app.settings import Settings
from app.store import run_ids as naming
from app.store.plans import check_for_phones, load_plan
from app.tools.doctor import after_start
from app.tools.doctor.subject import subject_of

PHONES_MAX = 200

SETTLE_S_MIN = 1.0
"""Phones poll for their task twice a second. After this pause all of them know the trial and have stopped polling."""


def plan_for_phones(arguments: argparse.Namespace) -> Plan:
    """Return the plan of the file or the classroom's default plan, changed by flags. Raises `Malformed`."""
    if not 1 <= arguments.phones <= PHONES_MAX:
        raise Malformed(f"--phones is {arguments.phones}; it must be 1 to {PHONES_MAX}.")
    if arguments.instrument:
        raise Malformed(
            "--instrument is for built-in clients: phones have no kernel stamps to split delays by."
        )
    if arguments.plan is not None:
        plan = load_plan(arguments.plan, seed=arguments.seed)
        plan = replace(plan, environment="lan", instrument=False, settle_s=max(plan.settle_s, SETTLE_S_MIN))
    else:
        arms = measuring.parse_arms(arguments.arms or ",".join(TRANSPORTS))
        plan = classroom_plan(arguments.phones, seed=measuring.seed_or_random(arguments.seed), arms=arms)
    return plan


def execute(plan: Plan, arguments: argparse.Namespace) -> int:
    """Check the machine, serve, wait for phones, measure and print the result.

    Returns the exit code. Ctrl-C, SIGTERM and a closed terminal end it, after the report of what was measured.
    """
    plan = with_phones(plan, arguments.phones)
    check_for_phones(plan)
    arguments.lang = arguments.lang or os.environ.get("SIAR_LANGUAGE")
    ending = measuring.ending_of(arguments)
    words = Words(ending.language)
    since = clock.readings()
    settings, files = _settings(arguments, words)
    subject = subject_of(settings)
    with (
        server_process.start(
            runs_dir=settings.runs_dir,
            admin_token=settings.admin_token,
            settings={
                **measuring.given_settings(),
                "SIAR_RECORDER": "0",
                "SIAR_OPERATOR_KEY": settings.operator_key,
                "SIAR_LANGUAGE": words.language,
                **_encryption(settings, files),
            },
            host=settings.host,
            port=settings.port,
            is_secure=files is not None,
        ) as serving,
    ):
        if not arguments.no_check:
            # Checked here, because the server's output goes to a log; and before phones connect, whom the checks could
            # disturb.
            found = after_start.look(subject, since, authority=settings.tls_authority or None)
            print(*after_start.report(found, words), sep="\n")
        announcement.print_links(settings, subject, words, files=files, qr=not arguments.no_qr)
        local = replace(serving.server, url=subject.url(subject.local()))
        return _run(plan, local, settings, arguments.phones, ending)


def _run(plan: Plan, server: Server, settings: Settings, phones: int, ending: measuring.Ending) -> int:
    words = Words(ending.language)
    run = RoomRun(
        plan,
        server,
        settings.runs_dir,
        naming.new_run_id(),
        phones,
        for_stream(sys.stderr, ending.language),
        settings=measuring.given_settings(),
    )
    analysis = None
    failure: SiarError | None = None
    values = {"count": phones, "length": duration(length_s(plan), words), "seed": plan.seed}
    try:
        print(words.say("run.waiting", **values), flush=True)
        analysis = run.execute()
    except OutputLost:
        raise
    except KeyboardInterrupt:
        pass  # While phones gathered, or while the report was written, which is done below.
    except SiarError as error:
        if not run.folder.is_dir():
            raise
        failure = error
    if not run.folder.is_dir():
        print(f"siar: {words.say('run.stopped')}", file=sys.stderr)
        return EXIT_INTERRUPTED
    analysis = measuring.report(run.folder, ending, analysis)
    if failure is not None:
        sys.stdout.flush()
        print(f"siar: {failure}", file=sys.stderr)
        return EXIT_FAILURE
    return measuring.exit_code(analysis, is_strict=ending.is_strict)


def _encryption(settings: Settings, files: Files | None) -> dict[str, str]:
    """Return the server's settings for its certificate, and make this process trust that certificate."""
    if files is None:
        return {}
    os.environ.setdefault("SSL_CERT_FILE", str(files.trusted or files.certificate))
    return {
        "SIAR_TLS_CERT": settings.tls_cert,
        "SIAR_TLS_KEY": settings.tls_key,
        "SIAR_TLS_AUTHORITY": settings.tls_authority,
    }


def _settings(arguments: argparse.Namespace, words: Words) -> tuple[Settings, Files | None]:
    """Return the server's settings and certificate files.

    Raises `Unfit` if the machine cannot serve, and `SettingError` if certificate or key is missing.
    """
    settings = settings_module.read(
        os.environ,
        host=arguments.host or os.environ.get("SIAR_HOST") or "0.0.0.0",
        port=arguments.port,
        operator_key=secrets.token_urlsafe(OPERATOR_KEY_BYTES),
    )
    settings, findings = first_look(settings, words, check=not arguments.no_check)
    settings, files = certificate.with_certificate(settings, arguments)
    if not arguments.no_check:
        announcement.print_findings(findings, words)
    return settings, files
