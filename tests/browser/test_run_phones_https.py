"""`./siar run --phones N --https self`: a phone that is a secure page measures from joining to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.browser.cdp import running_browser
from tests.browser.classroom import STEP, join, phone
from tests.components import require_chromium
from tests.integration.test_run_phones import SHORT, first_line_with, siar
from tests.support.server import free_port

pytestmark = [pytest.mark.alone, pytest.mark.browser, pytest.mark.nightly]


def test_a_secure_page_joins_and_the_report_is_written(tmp_path: Path) -> None:
    port, out = free_port(), tmp_path / "out.json"
    arguments = ("--phones", "1", "--https", "self", "--json", str(out), *SHORT, "--clients", "1")
    with (
        siar(tmp_path, port, *arguments) as process,
        # Its owner accepted the warning about a certificate that nobody has signed.
        running_browser(require_chromium(), "--ignore-certificate-errors") as browser,
    ):
        first_line_with(process, "Waiting for phones")
        page = phone(browser, f"https://127.0.0.1:{port}")
        secure = page.evaluate("isSecureContext && crossOriginIsolated")
        join(page)
        page.wait_for(f"{STEP} === 'round'", 60)
        browser.wait(lambda: process.poll() is not None, "the run has ended", 240)
        said, complaint = process.communicate(timeout=10)

    assert process.returncode == 0, complaint
    result = json.loads(out.read_text())
    device = result["conditions"]["participants"][0]
    assert secure
    assert device["secure_context"] is True
    assert result["run"]["complete"] is True
    assert [trial["lost"] for trial in result["trials"]] == [0] * len(result["trials"])
    assert "1 phone" in said
