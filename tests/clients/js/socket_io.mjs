// argv: URL, package, transport.
import { report } from "./report.mjs";

const [url, library, transport] = process.argv.slice(2);
const { io } = (await import(library)).default;

let lastEventId;
const socket = io(url, {
  transports: [transport],
  auth: (answer) => answer(lastEventId ? { last_event_id: lastEventId } : {}),
});
socket.on("connect", () => report("open"));
socket.on("connect_error", (error) => report("error", { message: error.message }));
socket.on("disconnect", (reason) => {
  report("error", { message: reason });
  if (reason === "io server disconnect") socket.connect();
});
for (const name of ["notification", "gap"]) {
  socket.on(name, (/** @type {{id: string}} */ event) => {
    lastEventId = event.id;
    report(name, event);
  });
}
