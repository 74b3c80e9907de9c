"""requests alone: `iter_lines` of a streamed answer, and the fields read by hand."""

import requests
from reporting import report, report_event, resume_for_ever


def _read(url: str, headers: dict[str, str]) -> None:
    response = requests.get(url, stream=True, headers=headers)
    response.raise_for_status()
    report("open")
    fields: dict[str, str] = {}
    for line in response.iter_lines(decode_unicode=True):
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "id" in fields:
            headers["Last-Event-ID"] = fields["id"]
        report_event(fields.get("event", ""), fields.get("data", ""))
        fields = {}


resume_for_ever(_read, (requests.RequestException,))
