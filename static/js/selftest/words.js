/** What a step's answer says in words, for the phone and for the operator. Pure: answer and catalogue in, text out. */

/** @typedef {import("./steps.js").Answer} Answer */

/** @typedef {{step: string} & Answer} Answered a step as it is recorded */

/** @typedef {{t: import("../texts.js").Translate, language: string}} Speech with the self-test's catalogue */

/**
 * Why, and what was measured; empty where there is nothing to add.
 *
 * @param {Pick<Answer, "reason" | "figures">} answer
 * @param {Speech} speech
 */
export function foundWords({ reason, figures = {} }, { t, language }) {
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const said = Object.entries(figures).map(([name, value]) =>
    t(`figure.${name}`, { value: number.format(value) }),
  );
  return [...(reason ? [t(`reason.${reason}`)] : []), ...said].join(" · ");
}

/**
 * A step with what came of it: "The server's clock: passed · error at most 1.2 ms".
 *
 * @param {Answered} answered
 * @param {Speech} speech
 */
export function stepWords(answered, speech) {
  const { t } = speech;
  const state = `${t(`step.${answered.step}`)}: ${t(`state.${answered.state}`)}`;
  return [state, foundWords(answered, speech)].filter(Boolean).join(" · ");
}
