/**
 * What the outbox holds, kept in the browser's IndexedDB: a page that is reloaded or thrown out of memory loses nothing.
 *
 * One record holds it all: at most 2,000 samples, and they are only added between trials. Where a browser keeps nothing
 * (private windows of some), the outbox works without.
 */

/** @typedef {import("./outbox.js").Kept} Kept */

const DATABASE = "siar";
const STORE = "outbox";
const KEY = "kept";

/** A store of one record; writing is asynchronous, and the newest value is what stays. */
export class OutboxStore {
  /** @type {Promise<IDBDatabase | null>} */
  #database;
  /** @type {Kept | null} the value that is to be written next */
  #next = null;
  #isWriting = false;

  /** @param {IDBFactory | undefined} indexedDb */
  constructor(indexedDb) {
    this.#database = indexedDb === undefined ? Promise.resolve(null) : open(indexedDb).catch(() => null);
  }

  /** @returns {Promise<Kept | null>} */
  async load() {
    const database = await this.#database;
    if (database === null) return null;
    const request = database.transaction(STORE).objectStore(STORE).get(KEY);
    return (await settled(request).catch(() => null)) ?? null;
  }

  /**
   * Keep this; several values at once are written as the last of them.
   *
   * @param {Kept} kept
   */
  async keep(kept) {
    this.#next = kept;
    if (this.#isWriting) return;
    this.#isWriting = true;
    const database = await this.#database;
    while (database !== null && this.#next !== null) {
      const value = this.#next;
      this.#next = null;
      const store = database.transaction(STORE, "readwrite").objectStore(STORE);
      // A full disk leaves the outbox in memory, where it is anyway.
      await settled(store.put(value, KEY)).catch(() => null);
    }
    this.#isWriting = false;
  }
}

/**
 * @param {IDBFactory} indexedDb
 * @returns {Promise<IDBDatabase>}
 */
function open(indexedDb) {
  const request = indexedDb.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return settled(request);
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
