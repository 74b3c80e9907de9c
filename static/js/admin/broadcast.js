/** What a broadcast is: its request, whom it reaches, and the same as a line for a terminal. Pure. */

/** @typedef {import("./types.js").Device} Device */
/** @typedef {import("./types.js").Publish} Publish */
/** @typedef {import("./types.js").Sent} Sent */
/** @typedef {import("./types.js").Wanted} Wanted */

/** Above so many receivers the page asks first: by then it is a crowd that sees a slip. */
export const RECEIVERS_UNASKED_MAX = 20;

const HISTORY_MAX = 20;

/**
 * @param {Wanted} wanted
 * @param {Iterable<string>} chosen devices
 * @returns {Publish}
 */
export function publishOf({ title, body, topic, target }, chosen) {
  const publish = { title, body, topic };
  if (target === "all") return publish;
  return { ...publish, targets: target === "chosen" ? { devices: [...chosen] } : { transport: target } };
}

/**
 * The connections that a publish goes to.
 *
 * @param {readonly Device[]} devices
 * @param {Publish} publish
 */
export function receiversOf(devices, { topic, targets }) {
  return devices.filter(
    (each) =>
      (!each.topics?.length || each.topics.includes(topic)) &&
      (targets?.transport === undefined || targets.transport === each.transport) &&
      (targets?.devices === undefined || (each.device !== null && targets.devices.includes(each.device))),
  );
}

/**
 * The same publish by one line in a terminal. The token is left to the shell: it does not belong on a screen.
 *
 * @param {string} origin
 * @param {Publish} publish
 */
export function curlLine(origin, publish) {
  const json = JSON.stringify(publish).replaceAll("'", "'\\''");
  return [
    `curl ${origin}/api/notifications`,
    `-H "Authorization: Bearer $SIAR_ADMIN_TOKEN"`,
    "-H 'Content-Type: application/json'",
    `-d '${json}'`,
  ].join(" ");
}

/**
 * The newest notifications, newest first: those of the server's history, and those that this page sent to some only,
 * which no history of everybody's shows.
 *
 * @param {readonly Sent[]} known
 * @param {readonly Sent[]} more
 * @returns {Sent[]}
 */
export function mergeHistory(known, more) {
  const byId = new Map([...more, ...known].map((sent) => [sent.id, sent]));
  return [...byId.values()].sort((a, b) => b.sent_us - a.sent_us).slice(0, HISTORY_MAX);
}
