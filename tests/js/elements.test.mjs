import assert from "node:assert/strict";
import test from "node:test";

import { drawRows } from "../../static/js/elements.js";

/** As much of an element as a list of rows needs. */
function makePlace() {
  const children = [];
  const without = (row) => children.includes(row) && children.splice(children.indexOf(row), 1);
  const insertBefore = (row, before) => {
    without(row);
    children.splice(before === null ? children.length : children.indexOf(before), 0, row);
  };
  const makeRow = () => {
    const row = { dataset: {}, text: "", remove: () => without(row) };
    return row;
  };
  const draw = (texts) =>
    drawRows({ children, insertBefore }, texts, {
      keyOf: (text) => text,
      make: makeRow,
      draw: (row, text) => (row.text = text),
    });
  return { children, draw, texts: () => children.map(({ text }) => text) };
}

test("a row whose item stays is the same element wherever it moves", () => {
  const { children, draw, texts } = makePlace();
  draw(["a", "b", "c"]);
  const [, b] = children;

  draw(["b", "d"]);

  assert.deepEqual(texts(), ["b", "d"]);
  assert.equal(children[0], b);
});

test("what is said twice stands there twice, however often it is drawn again", () => {
  const { draw, texts } = makePlace();
  const notes = ["a phone has left", "it is back", "a phone has left"];

  for (let turn = 0; turn < 4; turn += 1) draw(notes);
  assert.deepEqual(texts(), notes);

  draw(["it is back"]);
  assert.deepEqual(texts(), ["it is back"]);
});
