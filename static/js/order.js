/**
 * What is missing and what came twice, by offset.
 *
 * Offsets rise by one for each notification over all topics, so on a stream without a filter a number that is skipped
 * is a hole. A hole is no proof of a loss: what was meant for other devices, and what belongs to an experiment's trial,
 * takes numbers too, and nothing on the wire says so. Only the server's history can tell (history.js), which lists
 * what was sent to everyone:
 *
 *     hole --> open --> lost       history lists the offset: it was for everyone, and did not come here
 *                  \--> unknown    history no longer reaches back to it, or cannot be asked
 *                  \--> (closed)   history reaches back and does not list it: it was not for this device
 *
 * What is lost is hence a lower limit: what was meant for this device alone, or has outlived its own time, is in no
 * list. A late arrival fills a hole, whatever was said of it. Everything at or below the highest offset that is not in
 * a hole has been here before. An epoch is one life of the history: its numbers mean nothing in another.
 */

import { parsePosition } from "./position.js";

/** @typedef {import("./types.js").HistoryAnswer} HistoryAnswer */
/** @typedef {import("./types.js").Missing} Missing */
/** @typedef {import("./types.js").Span} Span */
/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {{first: number, last: number, transport: Transport, verdict: "open" | "lost" | "unknown"}} Hole */

/** Beyond this many holes the oldest is final: it stays counted as what it is and can no longer be filled. */
export const HOLES_MAX = 200;

/** The order of what one device received, over all its connections and both transports. */
export class Order {
  /** @type {string | null} */
  #epoch = null;
  #highest = 0;
  /** @type {Hole[]} */
  #holes = [];
  /** @type {Record<Transport, Missing>} */
  #final = {
    sse: { lost_count: 0, unknown_count: 0 },
    socketio: { lost_count: 0, unknown_count: 0 },
  };

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
   * @param {Transport} transport on which it came; a hole before it is this transport's
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
   * The server said that history no longer reaches back. What lies between the gap and where the stream goes on was
   * looked through by the server, and was not for this device.
   *
   * @param {import("./types.js").Gap} gap
   * @param {Transport} transport
   */
  noteGap(gap, transport) {
    const position = parsePosition(gap.id);
    if (!position) return;
    if (position.epoch !== this.#epoch) this.#enter(position.epoch, gap.from - 1);
    this.#openHole(Math.max(gap.from, this.#highest + 1), gap.to, transport);
    this.#highest = Math.max(this.#highest, gap.to, position.offset);
  }

  /**
   * From the first to the last offset of which history has to be asked; null when there is none.
   *
   * @returns {Span | null}
   */
  openSpan() {
    const open = this.#holes.filter(({ verdict }) => verdict === "open");
    if (this.#epoch === null || open.length === 0) return null;
    return {
      epoch: this.#epoch,
      first: Math.min(...open.map(({ first }) => first)),
      last: Math.max(...open.map(({ last }) => last)),
    };
  }

  /**
   * What history says of the open holes. What lies beyond the end of a long list stays open.
   *
   * @param {HistoryAnswer} answer
   */
  judge(answer) {
    if (answer.epoch !== this.#epoch) return;
    this.#holes = this.#holes.flatMap((hole) => (hole.verdict === "open" ? judged(hole, answer) : [hole]));
    this.#limit();
  }

  /** Nobody can be asked: what is open stays unknown. */
  giveUp() {
    this.#holes = this.#holes.map((hole) =>
      hole.verdict === "open" ? { ...hole, verdict: "unknown" } : hole,
    );
  }

  /**
   * @param {Transport} transport
   * @returns {Missing}
   */
  missing(transport) {
    const counts = { ...this.#final[transport] };
    for (const hole of this.#holes) if (hole.transport === transport) count(hole, counts);
    return counts;
  }

  /**
   * @param {string} epoch
   * @param {number} highest
   */
  #enter(epoch, highest) {
    for (const hole of this.#holes) count(hole, this.#final[hole.transport]);
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
    if (first <= last) this.#holes.push({ first, last, transport, verdict: "open" });
    this.#limit();
  }

  #limit() {
    const tooMany = Math.max(0, this.#holes.length - HOLES_MAX);
    for (const hole of this.#holes.splice(0, tooMany)) count(hole, this.#final[hole.transport]);
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
    this.#holes = this.#holes.flatMap((each) =>
      each === hole ? parts.filter((part) => size(part) > 0) : [each],
    );
    return true;
  }
}

/**
 * What is left of an open hole after an answer.
 *
 * @param {Hole} hole
 * @param {HistoryAnswer} answer
 * @returns {Hole[]}
 */
function judged(hole, { oldest, listed, through }) {
  /** @type {Hole[]} */
  const parts = [
    { ...hole, last: Math.min(hole.last, oldest - 1, through), verdict: "unknown" },
    ...listed
      .filter((offset) => hole.first <= offset && offset <= hole.last)
      .map((offset) => ({ ...hole, first: offset, last: offset, verdict: /** @type {const} */ ("lost") })),
    { ...hole, first: Math.max(hole.first, through + 1) },
  ];
  return parts.filter((part) => size(part) > 0);
}

/**
 * @param {Hole} hole
 * @param {Missing} counts where it is added
 */
function count(hole, counts) {
  counts[hole.verdict === "lost" ? "lost_count" : "unknown_count"] += size(hole);
}

/** @param {Hole} hole */
function size({ first, last }) {
  return last - first + 1;
}
