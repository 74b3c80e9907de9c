/** Opens streams; the code of a transport is loaded when it first runs. */

/** @typedef {import("./types.js").StreamEvents} StreamEvents */
/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {(wanted: any, events: StreamEvents) => import("./types.js").Stream} Open */

/** After code that could not be loaded, as the network was away. */
const RETRY_MS = 1_000;

/**
 * @param {Record<Transport, () => Promise<Open>>} loaders
 * @param {{timers: import("./types.js").Timers}} dependencies
 * @returns {import("./types.js").OpenStream}
 */
export function makeOpenStream(loaders, { timers }) {
  return (transport, wanted, events) => {
    /** @type {import("./types.js").Stream | null} */
    let stream = null;
    let isClosed = false;
    /** @type {any} */
    let timer;
    load();

    async function load() {
      try {
        const open = await loaders[transport]();
        if (!isClosed) stream = open(wanted, events);
      } catch {
        if (isClosed) return;
        events.onDown();
        timer = timers.setTimeout(load, RETRY_MS);
      }
    }

    return {
      close() {
        isClosed = true;
        timers.clearTimeout(timer);
        stream?.close();
      },
    };
  };
}
