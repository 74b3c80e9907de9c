import { createEventSource } from "eventsource-client";
import { report, reportEvent } from "./report.mjs";

createEventSource({
  url: `${process.argv[2]}/events`,
  onConnect: () => report("open"),
  onDisconnect: () => report("error", { message: "disconnected" }),
  onMessage: ({ event, data }) => reportEvent(event, data),
});
