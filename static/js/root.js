/**
 * Where the service is on its host. A proxy may show it below a prefix, as in `/siar`; this module's own address has it.
 *
 * Every path in this code, and in what the server answers, counts from there: whoever asks puts `root` in front of it.
 */

/** The prefix without a slash at its end; empty at the root of a host, and where there is no page (tests). */
export const root = globalThis.location ? new URL(import.meta.url).pathname.split("/static/js/")[0] : "";

/**
 * Ask the service.
 *
 * @param {string} path
 * @param {RequestInit} [options]
 */
export const ask = (path, options) => fetch(root + path, options);
