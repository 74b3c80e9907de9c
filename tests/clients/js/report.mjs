// What every program says of what happens to it: a line of JSON on stdout, which clients.py reads.

/** @param {string} kind @param {object} members */
export function report(kind, members = {}) {
  process.stdout.write(JSON.stringify({ kind, ...members }) + "\n");
}

/** @param {string} event @param {string} data */
export function reportEvent(event, data) {
  if (event === "notification" || event === "gap") report(event, JSON.parse(data));
}
