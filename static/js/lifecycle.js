/** What the browser does to the page, told as it happens: hidden, frozen, kept for the way back, offline. */

/** @typedef {import("./types.js").LifecycleEvent} LifecycleEvent */

/**
 * Tell every event, with the page's own time: a worker that is frozen with its page hears of it only afterwards.
 *
 * @param {{document: Document, window: Window}} page
 * @param {(event: LifecycleEvent) => void} tell
 */
export function watchLifecycle({ document, window }, tell) {
  document.addEventListener("visibilitychange", () =>
    tell(document.visibilityState === "visible" ? "visible" : "hidden"),
  );
  document.addEventListener("freeze", () => tell("freeze"));
  document.addEventListener("resume", () => tell("resume"));
  // Only a page that is kept comes back; one that is left for good says nothing more.
  window.addEventListener("pagehide", ({ persisted }) => persisted && tell("pagehide"));
  window.addEventListener("pageshow", ({ persisted }) => persisted && tell("pageshow"));
  window.addEventListener("online", () => tell("online"));
  window.addEventListener("offline", () => tell("offline"));
}
