"""sseclient-py over requests, as its README has it."""

import requests
import sseclient
from reporting import report, report_event, resume_for_ever


def _read(url: str, headers: dict[str, str]) -> None:
    response = requests.get(url, stream=True, headers=headers)
    response.raise_for_status()
    report("open")
    for event in sseclient.SSEClient(response).events():
        if event.id:
            headers["Last-Event-ID"] = event.id
        report_event(event.event, event.data)


resume_for_ever(_read, (requests.RequestException,))
