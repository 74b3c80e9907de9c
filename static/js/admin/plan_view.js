/** The form of a new experiment: a preset, or a preset with changes. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { lengthWords } from "../screen/words.js";
import { countsFor, fieldsOf, isChanged, lengthS, planWith } from "./plan.js";

/** @typedef {import("./plan.js").Fields} Fields */
/** @typedef {import("./types.js").Plan} Plan */
/** @typedef {import("./types.js").Preset} Preset */
/** @typedef {import("./types.js").Speech} Speech */

/** @typedef {{preset?: string, plan?: Plan, phones?: number, clients?: string}} Order the body of `POST /api/runs` */

const NUMBERS = /** @type {const} */ (["blocks", "notifications", "gap_ms", "payload_bytes"]);

/** As a plan from a file is called: it is not the preset any more. */
const CHANGED_PROFILE = "plan";

const LISTS = /** @type {const} */ (["arms", "radio"]);

export class PlanView {
  #speech;
  #form = /** @type {HTMLFormElement} */ (byId(document, "plan"));
  /** @type {Preset[]} */
  #presets = [];
  #isStarting = false;
  /** @type {Preset | null} what the fields were filled from */
  #base = null;
  /** How many phones the base is for. */
  #phonesBefore = 0;

  /**
   * @param {Speech} speech
   * @param {{onOpen: (order: Order) => void, onPhones: (phones: number) => void}} acts
   *   `onPhones`: the presets are wanted for so many phones
   */
  constructor(speech, { onOpen, onPhones }) {
    this.#speech = speech;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#base && !this.#isStarting) onOpen(this.#order(this.#base));
    });
    this.#form.addEventListener("input", (event) => {
      const { name, value, validity } = /** @type {HTMLInputElement} */ (event.target);
      if (name === "preset") this.fill(this.#presets.find(({ id }) => id === value) ?? null);
      if (name === "phones" && validity.valid) onPhones(Number(value));
      this.#drawWhatFollows();
    });
  }

  /**
   * @param {Preset[]} presets
   * @param {{isShown: boolean, isStarting: boolean}} how
   */
  draw(presets, { isShown, isStarting }) {
    this.#form.hidden = !isShown;
    // A button that is really disabled would lose the keyboard's focus.
    byId(document, "open").setAttribute("aria-disabled", String(isStarting));
    this.#isStarting = isStarting;
    if (this.#presets === presets) return;
    this.#presets = presets;
    drawRows(byId(document, "presets-list"), presets, {
      keyOf: ({ id }) => id,
      make: () => fromTemplate(document, "preset-template"),
      draw: (row, preset) => this.#drawPreset(row, preset),
    });
    if (this.#base === null && presets.length > 0) this.fill(presets[0]);
    else this.#rebase();
  }

  /**
   * Fill the fields; a plan that is no preset's (one that ran before) is given as if it were one.
   *
   * @param {Preset | null} preset
   * @param {number} [phones]
   */
  fill(preset, phones) {
    if (preset === null) return;
    this.#base = preset;
    const fields = fieldsOf(preset.plan);
    for (const name of [...NUMBERS, ...LISTS]) this.#field(name).value = String(fields[name]);
    const isPreset = this.#isOurs(preset);
    for (const input of this.#form.querySelectorAll("[name=preset]")) {
      const radio = /** @type {HTMLInputElement} */ (input);
      radio.checked = isPreset && radio.value === preset.id;
    }
    /** @type {HTMLDetailsElement} */ (byId(document, "fields")).open ||= !isPreset;
    this.#field("clients").value = preset.built_in ? "built-in" : "phones";
    if (phones !== undefined) this.#field("phones").value = String(phones);
    this.#phonesBefore = this.#phones();
    this.#drawWhatFollows();
  }

  /**
   * Fill the fields from what ran before.
   *
   * @param {Partial<Plan>} given
   * @param {{phones: number, built_in: boolean}} who
   */
  fillFromRun(given, { phones, built_in }) {
    if (!given.arms || !given.rate_hz) return;
    const plan = /** @type {Plan} */ (given);
    const length_s = this.#presets[0] ? lengthS(this.#presets[0], plan) : 0;
    this.fill({ id: "", title_key: "", text_key: "", plan, length_s, built_in }, phones);
    this.#field("phones").focus();
  }

  /** The same preset for another number of phones; what was changed in the form stays. */
  #rebase() {
    const base = this.#base;
    const now = this.#presets.find(({ id }) => id === base?.id);
    if (!base || !now) return;
    if (isChanged(base.plan, this.#fields())) this.#base = now;
    else this.fill(now);
    this.#drawWhatFollows();
  }

  /**
   * @param {Preset} base
   * @returns {Order}
   */
  #order(base) {
    const fields = this.#fields();
    const isBuiltIn = this.#isBuiltIn();
    const who = isBuiltIn ? { clients: "built-in" } : { phones: this.#phones() };
    const isAsItWas = this.#isOurs(base) && !isChanged(base.plan, fields) && isBuiltIn === base.built_in;
    return isAsItWas ? { preset: base.id, ...who } : { plan: this.#plan(base), ...who };
  }

  /** @param {Preset} base */
  #plan(base) {
    const fields = this.#fields();
    const plan = planWith(base.plan, fields);
    if (isChanged(base.plan, fields)) plan.profile = CHANGED_PROFILE;
    // A preset came for this number of phones; of another plan the counts follow it when it is changed.
    if (!this.#isOurs(base))
      plan.client_counts = countsFor(plan.client_counts, {
        phones: this.#phones() || 1,
        before: this.#phonesBefore,
      });
    return plan;
  }

  /** @param {Preset} preset */
  #isOurs(preset) {
    return this.#presets.some(({ id }) => id === preset.id);
  }

  /** How long it takes, and how many notifications a trial may have: phones hold fewer than built-in clients. */
  #drawWhatFollows() {
    if (this.#base === null) return;
    const { t, language } = this.#speech;
    const length = lengthWords(lengthS(this.#base, this.#plan(this.#base)), this.#speech);
    setText(byId(document, "plan-length"), t("plan.length", { length }));
    const field = /** @type {HTMLInputElement} */ (this.#field("notifications"));
    const ofPhones = Number(field.dataset.maxOfPhones) - this.#base.plan.warmup_notifications;
    field.max = String(this.#isBuiltIn() ? field.dataset.max : ofPhones);
    const hint = byId(document, "notifications-hint");
    hint.hidden = this.#isBuiltIn();
    setText(hint, t("plan.notifications_max", { count: formatCount(ofPhones, language) }));
    // What is wrong in a closed part of the form could not be shown.
    if (!field.validity.valid) /** @type {HTMLDetailsElement} */ (byId(document, "fields")).open = true;
  }

  #phones() {
    return Number(this.#field("phones").value);
  }

  #isBuiltIn() {
    return this.#field("clients").value === "built-in";
  }

  /** @returns {Fields} */
  #fields() {
    const [blocks, notifications, gap_ms, payload_bytes] = NUMBERS.map((name) =>
      Number(this.#field(name).value),
    );
    const [arms, radio] = LISTS.map((name) => this.#field(name).value);
    return { arms, radio, blocks, notifications, gap_ms, payload_bytes };
  }

  /**
   * @param {HTMLElement} row
   * @param {Preset} preset
   */
  #drawPreset(row, preset) {
    const { t } = this.#speech;
    /** @type {HTMLInputElement} */ (part(row, "input")).value = preset.id;
    setText(part(row, "title"), t(preset.title_key));
    const length = lengthWords(preset.length_s, this.#speech);
    setText(part(row, "text"), `${t(preset.text_key)} ${t("plan.length", { length })}`);
  }

  /** @param {string} name */
  #field(name) {
    return /** @type {HTMLInputElement | HTMLSelectElement} */ (this.#form.elements.namedItem(name));
  }
}
