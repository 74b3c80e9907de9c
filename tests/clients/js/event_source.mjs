// The three that look like a browser's EventSource, by the name in argv[3].
import { report, reportEvent } from "./report.mjs";

const [url, name] = process.argv.slice(2);
const library = await import(
  { "eventsource-4": "eventsource", "eventsource-1": "eventsource1", "event-source-polyfill": "event-source-polyfill" }[
    name
  ]
);
const EventSource = library.EventSource ?? library.default.EventSourcePolyfill ?? library.default;

const source = new EventSource(`${url}/events`);
source.addEventListener("open", () => report("open"));
source.addEventListener("error", (event) => report("error", { message: event.message ?? `readyState ${source.readyState}` }));
for (const type of ["notification", "gap"]) {
  source.addEventListener(type, (event) => reportEvent(type, event.data));
}
