/**
 * Received notifications as the system shows them, while the page is open and the person allows it.
 *
 * There are two ways. Chrome on Android has only the one through a service worker. A browser that lends the page no
 * service worker (it does not trust the certificate, or the window is private) may let the page show them by itself, as
 * those of desks do. Where neither works, the page must say so: whoever allowed it would wait in vain.
 */

import { root } from "./root.js";

/** @typedef {Pick<import("./types.js").Notification, "id" | "title" | "body">} Notice */

/**
 * @typedef {"none" | "offered" | "on" | "failed"} NoticesState
 *   "none": not to be had (plain http, iOS outside the home screen), or the person said no on an earlier visit;
 *   "offered": the person may ask for it; "failed": asked for, and refused by the person or the browser
 */

/**
 * @typedef {{
 *   focus: () => void, navigator: {serviceWorker?: ServiceWorkerContainer}, Notification: typeof Notification,
 * }} Browser what is used of it: a page hands in its `globalThis`
 */

/** Older ones are taken away: a busy hour must not fill the phone's drawer. */
export const SHOWN_COUNT_MAX = 8;

/** What this page shows outside of itself. */
export class Notices {
  #browser;
  #onChange;
  /** @type {NoticesState} */
  #state = "none";
  /** @type {ServiceWorkerRegistration | null} */
  #registration = null;
  /** @type {(() => void)[]} takes away what is shown, oldest first */
  #removals = [];

  /**
   * @param {Browser} browser
   * @param {(state: NoticesState) => void} onChange
   */
  constructor(browser, onChange) {
    this.#browser = browser;
    this.#onChange = onChange;
  }

  /** Go on as on an earlier visit, on which the person allowed it. Nothing is registered by this. */
  async resume() {
    this.#registration = await this.#ask((workers) => workers.getRegistration(`${root}/static/js/notices/`));
    this.#become("on");
  }

  /**
   * Ask the person, and show `first` at once: whether notifications are shown here is not to be known before one is.
   *
   * @param {Notice} first
   */
  async turnOn(first) {
    const permission = await this.#browser.Notification.requestPermission();
    if (permission === "default") return; // Put off, and offered as before.
    if (permission === "granted") this.#registration = await this.#ask(register);
    this.#become(permission === "granted" && (await this.#show(first)) ? "on" : "failed");
  }

  /**
   * Nothing, unless it is on. Where it no longer works, or was allowed to a page that had no service worker yet, it is
   * offered again.
   *
   * @param {Notice} notice
   */
  async show(notice) {
    if (this.#state === "on" && !(await this.#show(notice))) this.#become("offered");
  }

  /**
   * @param {Notice} notice
   * @returns {Promise<boolean>} whether the browser took it
   */
  async #show({ id, title, body }) {
    // The same notification in two tabs, or twice in one, is one.
    const options = { body, tag: `siar.${id}` };
    try {
      this.#removals.push(
        this.#registration
          ? await throughWorker(this.#registration, title, options)
          : byPage(this.#browser, title, options),
      );
    } catch {
      // Not allowed any more, or the worker is gone; and Chrome on Android lets no page do it by itself.
      return false;
    }
    if (this.#removals.length > SHOWN_COUNT_MAX) this.#removals.shift()?.();
    return true;
  }

  /**
   * @param {(workers: ServiceWorkerContainer) => Promise<ServiceWorkerRegistration | undefined>} question
   * @returns {Promise<ServiceWorkerRegistration | null>} null where this browser has none for this page
   */
  async #ask(question) {
    try {
      const { serviceWorker } = this.#browser.navigator;
      return (serviceWorker && (await question(serviceWorker))) ?? null;
    } catch {
      return null; // An untrusted certificate, or storage that the person has blocked.
    }
  }

  /** @param {NoticesState} state */
  #become(state) {
    this.#state = state;
    this.#onChange(state);
  }
}

/** @param {ServiceWorkerContainer} workers */
async function register(workers) {
  const registration = await workers.register(`${root}/static/js/notices/service_worker.js`);
  await untilActive(registration);
  return registration;
}

/**
 * Before that nothing can be shown through it. The first worker is active within moments; a newer one finds it so.
 *
 * @param {ServiceWorkerRegistration} registration
 * @returns {Promise<void>}
 */
function untilActive(registration) {
  const coming = registration.installing ?? registration.waiting;
  return new Promise((resolve) => {
    const look = () => {
      if (registration.active || !coming || coming.state === "redundant") resolve();
    };
    coming?.addEventListener("statechange", look);
    look();
  });
}

/**
 * @param {ServiceWorkerRegistration} registration
 * @param {string} title
 * @param {{body: string, tag: string}} options
 */
async function throughWorker(registration, title, options) {
  await registration.showNotification(title, options);
  return async () => {
    for (const shown of await registration.getNotifications({ tag: options.tag })) shown.close();
  };
}

/**
 * @param {Browser} browser
 * @param {string} title
 * @param {{body: string, tag: string}} options
 */
function byPage(browser, title, options) {
  const shown = new browser.Notification(title, options);
  shown.onclick = () => browser.focus();
  return () => shown.close();
}
