/** The steps of the phone protocol (docs/phone-protocol.md) in their order, and what is known of each. Pure. */

/** @typedef {"auto" | "guided" | "asked"} Kind the page looks by itself, looks while a person acts, or asks the person */

/** @typedef {"waiting" | "running" | "passed" | "failed" | "skipped"} State */

/** @typedef {{state: State, reason?: string, figures?: Record<string, number>}} Answer */

/** @type {ReadonlyArray<readonly [step: string, kind: Kind]>} */
export const STEPS = [
  ["qr", "asked"],
  ["sse", "auto"],
  ["socketio", "auto"],
  ["clock", "auto"],
  ["timer", "auto"],
  ["wake_lock", "auto"],
  ["receive", "guided"],
  ["hidden", "guided"],
  ["lock", "guided"],
  ["airplane", "guided"],
  ["receive_again", "guided"],
  ["rotate", "guided"],
  ["reload", "guided"],
  ["dark", "asked"],
  ["text_size", "asked"],
  ["join", "asked"],
];

const WAITING = /** @type {Answer} */ ({ state: "waiting" });

/** What has been answered so far. */
export class Protocol {
  /** @type {Map<string, Answer>} */
  #answers = new Map();
  #onChange;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /**
   * Go on with what was answered before a reload; anything that is no answer is passed over.
   *
   * @param {unknown} kept
   */
  restore(kept) {
    for (const each of Array.isArray(kept) ? kept : [])
      if (STEPS.some(([step]) => step === each?.step) && isDone(each)) {
        const { step, ...answer } = each;
        this.#answers.set(step, answer);
      }
  }

  /** @param {string} step */
  answerTo(step) {
    return this.#answers.get(step) ?? WAITING;
  }

  /**
   * @param {string} step
   * @param {Answer} answer
   */
  set(step, answer) {
    this.#answers.set(step, answer);
    this.#onChange();
  }

  /** Begin anew. */
  clear() {
    this.#answers.clear();
    this.#onChange();
  }

  /** The first step that has no answer; null when all have. */
  get current() {
    return STEPS.find(([step]) => !isDone(this.answerTo(step)))?.[0] ?? null;
  }

  counts() {
    const states = STEPS.map(([step]) => this.answerTo(step).state);
    const count = (/** @type {State} */ wanted) => states.filter((state) => state === wanted).length;
    const [passed, failed, skipped] = [count("passed"), count("failed"), count("skipped")];
    return { all: STEPS.length, done: passed + failed + skipped, passed, failed, skipped };
  }

  /** The answers as they are posted and kept. */
  record() {
    return STEPS.filter(([step]) => isDone(this.answerTo(step))).map(([step]) => ({
      step,
      ...this.answerTo(step),
    }));
  }
}

/** @param {Answer} answer */
function isDone({ state }) {
  return state === "passed" || state === "failed" || state === "skipped";
}
