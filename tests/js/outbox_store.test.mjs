import assert from "node:assert/strict";
import test from "node:test";

import { OutboxStore } from "../../static/js/outbox_store.js";
import { settle } from "./fakes.mjs";

/** A browser's IndexedDB with one store, which a test can take away and give back. */
function makeDatabase() {
  const stored = new Map();
  const world = { isClosed: false, stored };
  const store = {
    put: (value, key) => stored.set(key, structuredClone(value)),
    get: (key) => succeeding(stored.get(key)),
    getAll: () => succeeding([...stored].filter(([key]) => typeof key === "number").map(([, value]) => value)),
  };
  const transaction = () => {
    if (world.isClosed) throw new DOMException("The database connection is closing.", "InvalidStateError");
    const made = { objectStore: () => store, oncomplete: () => {} };
    queueMicrotask(() => made.oncomplete());
    return made;
  };
  return { world, indexedDb: { open: () => succeeding({ transaction }) } };
}

function succeeding(result) {
  const request = { result, onsuccess: () => {} };
  queueMicrotask(() => request.onsuccess());
  return request;
}

const kept = (waiting) => ({ under_way: null, waiting });

test("what is kept is there for the next page", async () => {
  const { indexedDb } = makeDatabase();
  const store = new OutboxStore(indexedDb);

  store.keep(kept(["a"]));
  store.keep(kept(["a", "b"]));
  await settle();

  assert.deepEqual(await new OutboxStore(indexedDb).load(), kept(["a", "b"]));
});

test("a database that the browser has closed under the page is as if there were none", async () => {
  const { world, indexedDb } = makeDatabase();
  const store = new OutboxStore(indexedDb);
  world.isClosed = true;

  assert.equal(await store.load(), null);
  assert.deepEqual(await store.pieces(), []);
});

test("what could not be written does not keep the next from being written", async () => {
  const { world, indexedDb } = makeDatabase();
  const store = new OutboxStore(indexedDb);
  world.isClosed = true;
  store.keep(kept(["a"]));
  await settle();

  world.isClosed = false;
  store.keep(kept(["a", "b"]));
  await settle();

  assert.deepEqual(world.stored.get("kept"), kept(["a", "b"]));
});
