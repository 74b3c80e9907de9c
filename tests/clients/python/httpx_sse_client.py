"""httpx-sse."""

import httpx
import httpx_sse
from reporting import report, report_event, resume_for_ever


def _read(url: str, headers: dict[str, str]) -> None:
    with (
        httpx.Client(timeout=httpx.Timeout(10, read=None)) as client,
        httpx_sse.connect_sse(client, "GET", url, headers=headers) as source,
    ):
        report("open")
        for event in source.iter_sse():
            headers["Last-Event-ID"] = event.id
            report_event(event.event, event.data)


resume_for_ever(_read, (httpx.HTTPError,))
