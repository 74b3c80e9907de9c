"""HTTP requests of the runner to a server, with the operator's token."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

import requests
import urllib3

from app.core.errors import Conflict, Malformed, SiarError, Unfit, Unknown
from app.core.wire import USER_AGENT
from app.i18n import REFUSAL, ending, from_json
from app.settings import is_loopback

_ERRORS: Mapping[int, type[SiarError]] = {400: Malformed, 404: Unknown, 409: Conflict, 422: Malformed}


NULL: Final = object()
"""Request body for JSON's null; Python's `None` means that there is no body."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is ready for requests."""

    url: str
    """Base URL, without a slash at the end."""
    admin_token: str = field(repr=False)
    clock_port: int | None
    """Port of the clock channel on the same host; without one (`None`), `GET /api/clock` is used instead."""
    version: Mapping[str, Any]
    """Response of `GET /version`."""
    pid: int | None = None
    """Root of its process tree when it runs on this machine. Without it CPU is not measured."""

    @property
    def host(self) -> str:
        """Name or address of the server's machine."""
        return urlsplit(self.url).hostname or ""

    @property
    def clock_channel(self) -> str:
        """Kind of the clock channel: `"websocket"`, or `"http"` where the server has no clock port."""
        return "http" if self.clock_port is None else "websocket"


def ask(
    method: str, url: str, *, token: str | None = None, body: object = None, timeout_s: float = 10.0
) -> tuple[int, Any]:
    """Send one request on a new connection; return the status and the decoded JSON, `None` for other content.

    Raises `OSError`, the base class of requests' errors, when there is no response.
    """
    headers = {"User-Agent": USER_AGENT, "Accept": "application/json", "Connection": "close"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    with requests.Session() as session:
        session.trust_env = False  # the user's proxy must not be between runner and measured server
        # `trust_env` would also have read this variable.
        session.verify = os.environ.get("SSL_CERT_FILE") or True
        if url.startswith("https:") and is_loopback(urlsplit(url).hostname or ""):
            # On loopback there is no attacker in between, and the user's certificate seldom names localhost.
            session.verify = False
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if body is not None:
            headers["Content-Type"] = "application/json"
        response = session.request(
            method,
            url,
            data=None if body is None else json.dumps(None if body is NULL else body).encode(),
            headers=headers,
            timeout=timeout_s,
            allow_redirects=False,
        )
        try:
            return response.status_code, response.json() if response.content else None
        except ValueError:
            return response.status_code, None


def find_server(url: str, *, admin_token: str, pid: int | None = None) -> Server:
    """Return the server at `url` as it describes itself. Raises `Unfit` when there is no Siar server."""
    base = url.rstrip("/")
    try:
        status, version = ask("GET", f"{base}/version")
    except (OSError, ValueError) as error:
        raise Unfit(ending("server_unreachable", url=base, reason=error)) from error
    if status != 200 or not isinstance(version, dict) or "timebase" not in version:
        raise Unfit(ending("server_strange", url=base, status=status))
    return Server(base, admin_token, version.get("clock_port") or None, version, pid)


@dataclass(frozen=True, slots=True)
class TrialOnServer:
    """Times of a trial that the server has scheduled, in its time base."""

    first_due_us: int
    last_due_us: int
    ends_us: int


class Operator:
    """The operator's requests in an experiment."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def start_trial(self, request: Mapping[str, Any]) -> TrialOnServer:
        """Start a trial by `POST /api/trials`. Raises the error that the response's status stands for."""
        answer = self._ask("POST", "/api/trials", request, expected=201)
        return TrialOnServer(*(int(answer[name]) for name in ("first_due_us", "last_due_us", "ends_us")))

    def trial(self, run: str, trial: int) -> Mapping[str, Any]:
        """Return what the source published and what disturbed it. Raises `Unfit` when the server has lost the trial."""
        with _no_trial_is_unfit():
            answer: Mapping[str, Any] = self._ask("GET", f"/api/trials/{quote(run)}/{trial}")
        return answer

    def instrument(self, run: str, trial: int) -> Mapping[str, Any]:
        """Return the server's record of a closed trial's connections. Raises `Unfit` when it has lost the trial."""
        with _no_trial_is_unfit():
            answer: Mapping[str, Any] = self._ask("GET", f"/api/trials/{quote(run)}/{trial}/instrument")
        return answer

    def close_trial(self, run: str, trial: int) -> None:
        """Close a trial, after which the operator may publish again. Raises `Unfit` when the server has lost the trial."""
        with _no_trial_is_unfit():
            self._ask("DELETE", f"/api/trials/{quote(run)}/{trial}", expected=(200, 204))

    def _ask(
        self, method: str, path: str, body: object = None, *, expected: int | tuple[int, ...] = 200
    ) -> Any:
        try:
            status, answer = ask(method, self._server.url + path, token=self._server.admin_token, body=body)
        except OSError as error:
            raise Unfit(ending("server_gone", url=self._server.url, reason=error)) from error
        if status not in ((expected,) if isinstance(expected, int) else expected):
            detail = _detail(answer if isinstance(answer, dict) else {})
            raise _ERRORS.get(status, Unfit)(
                ending("server_refused", request=f"{method} {path}", status=status, detail=detail)
            )
        return answer


def _detail(problem: Mapping[str, Any]) -> str:
    """Return the reason of a refusal as a sentence that can be translated, or else as text."""
    try:
        return from_json({"code": REFUSAL + problem["code"], "parameters": problem["parameters"]})
    except (KeyError, TypeError, ValueError):  # From a server of another version, or from a proxy.
        return str(problem.get("detail") or problem.get("title") or "no reason given")


@contextlib.contextmanager
def _no_trial_is_unfit() -> Iterator[None]:
    """Turn a 404 for a trial into `Unfit`: trials are in the worker's memory, so the worker was restarted."""
    try:
        yield
    except Unknown as error:
        raise Unfit(ending("trial_lost")) from error
