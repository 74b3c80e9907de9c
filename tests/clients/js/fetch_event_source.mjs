// It is for pages only: what it asks of a window and a document is here, its fetch is Node's.
import { report, reportEvent } from "./report.mjs";

globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
const { fetchEventSource, EventStreamContentType } = (await import("@microsoft/fetch-event-source")).default;

await fetchEventSource(`${process.argv[2]}/events`, {
  async onopen(response) {
    if (!response.ok || response.headers.get("content-type") !== EventStreamContentType) {
      throw new Error(`status ${response.status}`);
    }
    report("open");
  },
  onmessage: ({ event, data }) => reportEvent(event, data),
  // As its README has it: by default the end of a stream is the end, and an error thrown here makes it come back.
  onclose() {
    throw new Error("the server closed");
  },
  onerror: (error) => report("error", { message: error.message }),
});
