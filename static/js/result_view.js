/**
 * A phone's own result: a small drawing of both transports on one axis, and the same as a table.
 *
 * The drawing is SVG made of elements, since the page's policy lets no style in from text.
 */

import { formatCount, formatMs } from "./format.js";
import { ask } from "./root.js";
import { makeTranslate } from "./texts.js";

/**
 * One arm of the experiment, as this phone saw it.
 *
 * @typedef {{
 *   arm: string, title: string, transport: import("./types.js").Transport,
 *   delay_ms_p25: number | null, delay_ms_p50: number | null, delay_ms_p75: number | null, delay_ms_p95: number | null,
 *   all_delay_ms_p50: number | null, samples: number,
 *   on_time: number, late: number, replayed: number, lost: number, asleep: number,
 * }} ArmResult `asleep`: trials that this phone slept through; `all_delay_ms_p50`: of every phone
 */

/**
 * @typedef {{
 *   run: string, pseudonym: string, seat: number, phones: number, arms: ArmResult[],
 *   verdict?: {code: string, sentence_en: string, sentence_id: string} | null,
 * }} Result
 */

/** @typedef {import("./words.js").Speech} Speech */

const SVG = "http://www.w3.org/2000/svg";

/** The drawing's own units; it is as wide as its place. */
const WIDTH = 320;
const LEFT = 92;
const RIGHT = 20;
const ROW = 44;
const AXIS = 26;

/**
 * @param {(url: string) => Promise<Response>} fetch
 * @param {string} pageUrl the path of the result's page
 * @returns {Promise<Result | null>} null when it cannot be had
 */
export async function loadResult(fetch, pageUrl) {
  try {
    const response = await fetch(pageUrl.startsWith("/api/") ? pageUrl : `/api${pageUrl}`);
    return response.ok ? await response.json() : null;
  } catch {
    // No connection: the link stays, and can be opened later.
    return null;
  }
}

/**
 * Load a result with its words, and draw it; throws where one of them cannot be had.
 *
 * @param {HTMLElement} place
 * @param {string} pageUrl the path of the result's page
 * @param {string} language
 */
export async function showResult(place, pageUrl, language) {
  const [result, texts] = await Promise.all([
    loadResult(ask, pageUrl),
    ask(`/static/i18n/${language}/result.json`).then((response) => response.json()),
  ]);
  if (result === null) throw new Error("the result did not load");
  drawResult(place, result, { t: makeTranslate(texts), language });
  const headline = paragraph(verdictOf(result, language));
  headline.className = "verdict";
  place.prepend(headline);
}

/**
 * @param {HTMLElement} place
 * @param {Result} result
 * @param {Speech} speech
 */
export function drawResult(place, { arms }, speech) {
  const drawable = arms.filter(({ delay_ms_p50 }) => delay_ms_p50 !== null);
  const words = paragraph(speech.t("result.too_few"));
  place.replaceChildren(
    ...(drawable.length > 0 ? [drawing(drawable, speech)] : [words]),
    table(arms, speech),
  );
}

/**
 * The run's headline in the reader's language, in the same words as everywhere.
 *
 * @param {Pick<Result, "verdict">} result
 * @param {string} language
 */
export function verdictOf({ verdict }, language) {
  return (language === "id" ? verdict?.sentence_id : verdict?.sentence_en) ?? "";
}

/**
 * A round number for the end of the axis, not below the value.
 *
 * @param {number} value above 0
 */
export function niceEnd(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((each) => each * power >= value) ?? 10;
  return step * power;
}

/**
 * @param {ArmResult[]} arms each with a median
 * @param {Speech} speech
 */
function drawing(arms, { t, language }) {
  const height = arms.length * ROW + AXIS;
  const endMs = niceEnd(
    Math.max(
      0.1,
      ...arms.map(({ delay_ms_p95, delay_ms_p75, delay_ms_p50 }) =>
        Math.max(delay_ms_p95 ?? 0, delay_ms_p75 ?? 0, delay_ms_p50 ?? 0),
      ),
    ),
  );
  const x = (/** @type {number} */ ms) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.max(0, ms)) / endMs;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", class: "result-drawing" });
  svg.setAttribute("aria-label", t("result.drawing"));
  for (const ms of [0, endMs / 2, endMs]) {
    svg.append(element("line", { x1: x(ms), x2: x(ms), y1: 4, y2: height - AXIS + 4, class: "grid" }));
    svg.append(label(formatCount(ms, language), { x: x(ms), y: height - 6, class: "tick at" }));
  }
  svg.append(label(t("result.unit"), { x: 0, y: height - 6, class: "tick" }));
  arms.forEach((arm, index) => svg.append(row(arm, { y: index * ROW + ROW / 2, x, index, t })));
  return svg;
}

/**
 * @param {ArmResult} arm
 * @param {{y: number, x: (ms: number) => number, index: number, t: Speech["t"]}} place
 */
function row(arm, { y, x, index, t }) {
  const median = arm.delay_ms_p50 ?? 0;
  const low = arm.delay_ms_p25 ?? median;
  const high = arm.delay_ms_p75 ?? median;
  const group = element("g", { class: `series-${index}` });
  group.append(label(nameOf(arm, t), { x: 0, y: y + 4, class: "arm" }));
  if (arm.delay_ms_p95 !== null)
    group.append(element("line", { x1: x(high), x2: x(arm.delay_ms_p95), y1: y, y2: y, class: "whisker" }));
  const width = Math.max(1.5, x(high) - x(low));
  group.append(element("rect", { x: x(low), y: y - 9, width, height: 18, rx: 2, class: "box" }));
  group.append(element("line", { x1: x(median), x2: x(median), y1: y - 13, y2: y + 13, class: "median" }));
  return group;
}

/**
 * @param {ArmResult[]} arms
 * @param {Speech} speech
 */
function table(arms, { t, language }) {
  const made = document.createElement("table");
  const rows = /** @type {const} */ ([
    ["median", "delay_ms_p50"],
    ["p95", "delay_ms_p95"],
    ["all", "all_delay_ms_p50"],
    ["on_time", "on_time"],
    ["late", "late"],
    ["replayed", "replayed"],
    ["lost", "lost"],
    ["asleep", "asleep"],
  ]);
  const head = made.createTHead().insertRow();
  head.append(document.createElement("td"), ...arms.map((arm) => heading(nameOf(arm, t), "col")));
  const body = made.createTBody();
  for (const [name, key] of rows) {
    const tr = body.insertRow();
    tr.append(heading(t(`result.${name}`), "row"));
    for (const arm of arms) tr.insertCell().textContent = figure(arm[key], key, language);
  }
  return made;
}

/**
 * @param {number | null} value
 * @param {string} key
 * @param {string} language
 */
function figure(value, key, language) {
  if (value === null || value === undefined) return "–";
  return key.includes("delay_ms") ? formatMs(value, language) : formatCount(value, language);
}

/**
 * @param {ArmResult} arm
 * @param {Speech["t"]} t
 */
function nameOf({ arm, title, transport }, t) {
  return arm === transport ? t(`transport.${transport}`) : title;
}

/**
 * @param {string} text
 * @param {"row" | "col"} scope
 */
function heading(text, scope) {
  const made = document.createElement("th");
  made.scope = scope;
  made.textContent = text;
  return made;
}

/** @param {string} text */
function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} attributes
 */
function label(text, attributes) {
  const made = element("text", attributes);
  made.textContent = text;
  return made;
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
