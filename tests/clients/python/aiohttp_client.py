"""aiohttp-sse-client. It comes back by itself to a server that is there; a refused connection ends it."""

import asyncio
import sys

import aiohttp
from aiohttp_sse_client.client import EventSource
from reporting import report, report_event


async def _main() -> None:
    headers: dict[str, str] = {}
    while True:
        try:
            async with EventSource(
                f"{sys.argv[1]}/events", headers=dict(headers), on_open=lambda: report("open")
            ) as source:
                async for event in source:
                    headers["Last-Event-ID"] = event.last_event_id
                    report_event(event.type, event.data)
        except (aiohttp.ClientError, ConnectionError) as error:
            report("error", message=repr(error))
        await asyncio.sleep(0.3)


asyncio.run(_main())
