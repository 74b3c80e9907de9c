/**
 * What is missing and what came twice, by offset.
 *
 * Offsets rise by one for each notification over all topics, so on a stream without a filter a number that is skipped
 * is a hole. A hole counts as lost until a late arrival fills it. Everything at or below the highest offset that is
 * not in a hole has been here before. An epoch is one life of the history: its numbers mean nothing in another.
 */

import { parsePosition } from "./position.js";

/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {{first: number, last: number, transport: Transport}} Hole */

/** Beyond this many holes the oldest is final: it stays counted as lost and can no longer be filled. */
export const HOLES_MAX = 200;

/** The order of what one device received, over all its connections and both transports. */
export class Order {
  /** @type {string | null} */
  #epoch = null;
  #highest = 0;
  /** @type {Hole[]} */
  #holes = [];
  /** @type {Record<Transport, number>} */
  #finalLost = { sse: 0, socketio: 0 };

  /**
   * Where the history stood before the first notification; without it the first one that arrives sets the start.
   *
   * @param {string | null} id
   */
  begin(id) {
    const position = parsePosition(id);
    if (position && this.#epoch === null) this.#enter(position.epoch, position.offset);
  }

  /**
   * Take an arrival in.
   *
   * @param {string} id
   * @param {Transport} transport on which it came; a hole before it is this transport's loss
   * @returns {boolean} false when it has been here before
   */
  note(id, transport) {
    const position = parsePosition(id);
    if (!position) return true;
    const { epoch, offset } = position;
    if (epoch !== this.#epoch) this.#enter(epoch, offset - 1);
    if (offset <= this.#highest) return this.#fill(offset);
    this.#openHole(this.#highest + 1, offset - 1, transport);
    this.#highest = offset;
    return true;
  }

  /**
   * The server said that history no longer reaches back.
   *
   * @param {import("./types.js").Gap} gap
   * @param {Transport} transport
   */
  noteGap(gap, transport) {
    const position = parsePosition(gap.id);
    if (!position) return;
    if (position.epoch === this.#epoch) {
      this.#openHole(this.#highest + 1, position.offset, transport);
      this.#highest = Math.max(this.#highest, position.offset);
    } else {
      this.#enter(position.epoch, position.offset);
      this.#finalLost[transport] += Math.max(0, gap.to - gap.from + 1);
    }
  }

  /** @param {Transport} transport */
  lostCount(transport) {
    const open = this.#holes.filter((hole) => hole.transport === transport);
    return open.reduce((count, hole) => count + size(hole), this.#finalLost[transport]);
  }

  /**
   * @param {string} epoch
   * @param {number} highest
   */
  #enter(epoch, highest) {
    for (const hole of this.#holes) this.#finalLost[hole.transport] += size(hole);
    this.#holes = [];
    this.#epoch = epoch;
    this.#highest = highest;
  }

  /**
   * @param {number} first
   * @param {number} last
   * @param {Transport} transport
   */
  #openHole(first, last, transport) {
    if (first <= last) this.#holes.push({ first, last, transport });
    if (this.#holes.length <= HOLES_MAX) return;
    const [oldest, ...others] = this.#holes;
    this.#finalLost[oldest.transport] += size(oldest);
    this.#holes = others;
  }

  /**
   * Whether the offset lay in a hole; the hole is then without it.
   *
   * @param {number} offset
   */
  #fill(offset) {
    const hole = this.#holes.find(({ first, last }) => first <= offset && offset <= last);
    if (!hole) return false;
    const parts = [
      { ...hole, last: offset - 1 },
      { ...hole, first: offset + 1 },
    ];
    this.#holes = this.#holes.filter((each) => each !== hole);
    this.#holes.push(...parts.filter((part) => part.first <= part.last));
    return true;
  }
}

/** @param {Hole} hole */
function size({ first, last }) {
  return last - first + 1;
}
