// The official client, as npm has it, told by a Python test what to do: prints one JSON line per happening.
// `recovered` is what the library makes of connection state recovery.
// Usage: node interop_client.mjs URL '{"transports": ["websocket"], "auth": {...}}'; ends when stdin does.
// Of our own among the options: `namespaces` (all use the same auth), and `resume`: send the last notification's id.
// Lines on stdin: `break` breaks the connection under the client, as a lost network would; others are JSON, as in
// {"do": "emit" | "call" | "disconnect", "namespace": "/", "event": "x", "args": []}. tests/support/interop_client.py
// does the same with python-socketio's client.
import { createInterface } from "node:readline";
import { io } from "socket.io-client";

const [url, given] = [process.argv[2], JSON.parse(process.argv[3])];
const { namespaces = ["/"], resume = false, ...options } = given;
const report = (kind, more = {}) => process.stdout.write(JSON.stringify({ kind, ...more }) + "\n");

let lastEventId;
const resuming = (give) => give({ ...options.auth, ...(lastEventId && { last_event_id: lastEventId }) });
const auth = resume ? resuming : options.auth;
const main = io(url + namespaces[0], { reconnection: false, ...options, auth });
const sockets = new Map(
  namespaces.map((name, index) => [name, index ? main.io.socket(name, { auth }) : main]),
);

// JSON has no bytes: on these lines they are {"base64": "..."}.
const packed = (value) => {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(packed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, packed(each)]));
};
const unpacked = (value) => {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if ("base64" in value) return Buffer.from(value.base64, "base64");
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unpacked(each)]));
};

for (const [namespace, socket] of sockets) {
  socket.on("connect", () => {
    const engine = socket.io.engine;
    const { id, recovered } = socket;
    report("connect", { namespace, transport: engine.transport.name, recovered, id });
    if (socket !== main) return;
    report("transport", { name: engine.transport.name });
    engine.on("upgrade", (transport) => report("transport", { name: transport.name }));
    engine.on("packet", ({ type, data }) => {
      if (type === "message") report("packet", { data: packed(data) });
    });
  });
  socket.onAny((event, ...args) => {
    const answer = typeof args.at(-1) === "function" ? args.pop() : undefined;
    lastEventId = event === "notification" ? args[0].id : lastEventId;
    report("event", { namespace, event, args: packed(args) });
    answer?.("answer", ...args);
  });
  socket.on("connect_error", (error) => report("connect_error", { namespace, message: error.message }));
  socket.on("disconnect", (reason) => report("disconnect", { namespace, reason }));
}

const commands = {
  emit: (socket, { event, args }) => socket.emit(event, ...unpacked(args)),
  call: (socket, { event, args }) =>
    socket.emit(event, ...unpacked(args), (...answer) => report("ack", { args: packed(answer) })),
  disconnect: () => sockets.forEach((socket) => socket.disconnect()),
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line === "break") return main.io.engine.close();
  const command = JSON.parse(line);
  commands[command.do](sockets.get(command.namespace), command);
});
lines.on("close", () => {
  for (const socket of sockets.values()) socket.close();
  process.exit(0);
});
