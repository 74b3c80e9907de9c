// The official client, as npm has it, told by a Python test what to do: prints one JSON line per happening.
// `recovered` is what the library makes of connection state recovery.
// Usage: node interop_client.mjs URL '{"transports": ["websocket"], "auth": {...}}'; ends when stdin does.
import { io } from "socket.io-client";

const [url, options] = [process.argv[2], JSON.parse(process.argv[3])];
const report = (kind, more = {}) => process.stdout.write(JSON.stringify({ kind, ...more }) + "\n");

const socket = io(url, { reconnection: false, ...options });

socket.on("connect", () => {
  report("connect", { transport: socket.io.engine.transport.name, recovered: socket.recovered });
  socket.io.engine.on("packet", ({ type, data }) => {
    if (type === "message") report("packet", { data });
  });
});
socket.onAny((event, ...args) => report("event", { event, args }));
socket.on("connect_error", (error) => report("connect_error", { message: error.message }));
socket.on("disconnect", (reason) => report("disconnect", { reason }));

// Each line breaks the connection under the client, as a lost network would; it comes back if told `reconnection`.
process.stdin.on("data", () => socket.io.engine.close());
process.stdin.on("end", () => {
  socket.close();
  process.exit(0);
});
process.stdin.resume();
