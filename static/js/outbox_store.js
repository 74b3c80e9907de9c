/**
 * What is not at the server yet, kept in the browser's IndexedDB: a page that is reloaded or thrown out of memory loses
 * nothing.
 *
 * One record holds what the outbox has: at most 2,000 samples, and they are only added between trials. What a trial has
 * brought meanwhile are records of their own, with numbers as keys. Where a browser keeps nothing (private windows of
 * some), all works without.
 */

import { root } from "./root.js";

/** @typedef {import("./outbox.js").Kept} Kept */
/** @typedef {import("./trial_log.js").Piece} Piece */

const DATABASE = `siar${root}`;
const STORE = "outbox";
const KEY = "kept";

/** Writing is asynchronous, in the order of asking; of several values of the outbox only the newest is written. */
export class OutboxStore {
  /** @type {Promise<IDBDatabase | null>} */
  #database;
  /** @type {Kept | null} the value that is to be written next */
  #next = null;
  /** @type {Piece[]} */
  #pieces = [];
  #pieceNumber = 0;
  #isDropping = false;
  #isWriting = false;

  /** @param {IDBFactory | undefined} indexedDb */
  constructor(indexedDb) {
    this.#database = indexedDb === undefined ? Promise.resolve(null) : open(indexedDb).catch(() => null);
  }

  /** @returns {Promise<Kept | null>} */
  async load() {
    const transaction = begin(await this.#database, "readonly");
    if (transaction === null) return null;
    const request = transaction.objectStore(STORE).get(KEY);
    return (await settled(request).catch(() => null)) ?? null;
  }

  /** What a trial has left, the oldest first. @returns {Promise<Piece[]>} */
  async pieces() {
    const transaction = begin(await this.#database, "readonly");
    if (transaction === null) return [];
    const request = transaction.objectStore(STORE).getAll(anyNumber());
    return settled(request).catch(() => []);
  }

  /** @param {Kept} kept */
  keep(kept) {
    this.#next = kept;
    this.#write();
  }

  /** @param {Piece} piece of the trial that runs */
  addPiece(piece) {
    this.#pieces.push(piece);
    this.#write();
  }

  /** The trial is over: what it brought is in the outbox, whose newest value is written together with this. */
  dropPieces() {
    this.#pieces = [];
    this.#isDropping = true;
    this.#write();
  }

  async #write() {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const database = await this.#database;
    while (this.#next !== null || this.#pieces.length > 0 || this.#isDropping) {
      const transaction = begin(database, "readwrite");
      if (transaction) this.#put(transaction.objectStore(STORE));
      this.#next = null;
      this.#pieces = [];
      this.#isDropping = false;
      // A full disk leaves everything in memory, where it is anyway.
      if (transaction)
        await new Promise((resolve) => (transaction.oncomplete = transaction.onabort = resolve));
    }
    this.#isWriting = false;
  }

  /** @param {IDBObjectStore} store */
  #put(store) {
    if (this.#isDropping) store.delete(anyNumber());
    if (this.#next !== null) store.put(this.#next, KEY);
    for (const piece of this.#pieces) store.put(piece, (this.#pieceNumber += 1));
  }
}

/**
 * Null where there is no database, or none any more: a browser closes it under a page whose data somebody clears.
 *
 * @param {IDBDatabase | null} database
 * @param {IDBTransactionMode} mode
 */
function begin(database, mode) {
  try {
    return database?.transaction(STORE, mode) ?? null;
  } catch {
    return null;
  }
}

/** Every key that is a number, and no text: those come after all numbers. */
function anyNumber() {
  return IDBKeyRange.upperBound(Infinity);
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
