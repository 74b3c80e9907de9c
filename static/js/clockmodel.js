/**
 * What the stamps of one clock segment allow this client's clock to be, and the hard bound that follows.
 *
 * The same steps in the same order as `app/core/clocksync/model.py`, which holds the theory: both give the same doubles.
 */

import { box, extentUs, keepAbove, keepBelow } from "./polygon.js";

/** @typedef {import("./polygon.js").Polygon} Polygon */

/**
 * Four stamps of one question and answer, microseconds each: t1 and t4 on the client's clock, t2 and t3 in the
 * server's timebase.
 *
 * @typedef {{t1_us: number, t2_us: number, t3_us: number, t4_us: number}} Probe
 */

/**
 * What a clock is allowed: the coarser step of the two clocks, the distance from a straight line, the rate against
 * the other clock as a plain ratio.
 *
 * @typedef {{quantum_us: number, wander_us: number, skew_max: number}} Tolerances
 */

/** @type {Readonly<Tolerances>} */
export const DEFAULT_TOLERANCES = Object.freeze({ quantum_us: 100, wander_us: 50, skew_max: 200e-6 });

/**
 * Whether the stamps are finite and neither clock ran backwards.
 *
 * @param {Probe} probe
 */
export function isOrdered({ t1_us, t2_us, t3_us, t4_us }) {
  return [t1_us, t2_us, t3_us, t4_us].every(Number.isFinite) && t1_us <= t4_us && t2_us <= t3_us;
}

/** All lines that the stamps of one clock segment allow. Immutable: further stamps give a narrower model. */
export class ClockModel {
  /**
   * @param {{client_reference_us: number, server_reference_us: number, slack_us: number}} references
   * @param {Polygon} polygon allowed (a, b), with a relative to the difference of the references; never empty
   */
  constructor(references, polygon) {
    this.references = references;
    this.polygon = polygon;
  }

  /**
   * The model after one probe; null when no clock can have produced it.
   *
   * @param {Probe} probe
   * @param {Tolerances} [tolerances]
   * @returns {ClockModel | null}
   */
  static start(probe, tolerances = DEFAULT_TOLERANCES) {
    const slackUs = tolerances.quantum_us + tolerances.wander_us;
    const receivedUs = probe.t4_us - probe.t1_us;
    const answeredUs = probe.t3_us - probe.t2_us;
    const offsetMaxUs = 2 * (receivedUs + answeredUs + slackUs + 1);
    const references = {
      client_reference_us: probe.t1_us,
      server_reference_us: probe.t2_us,
      slack_us: slackUs,
    };
    return new ClockModel(references, box(offsetMaxUs, tolerances.skew_max)).withProbe(probe);
  }

  /**
   * The model of all probes; null when there is no probe or no single clock explains all of them.
   *
   * @param {Iterable<Probe>} probes
   * @param {Tolerances} [tolerances]
   * @returns {ClockModel | null}
   */
  static fit(probes, tolerances = DEFAULT_TOLERANCES) {
    /** @type {ClockModel | null | undefined} */
    let model;
    for (const probe of probes) {
      model = model === undefined ? ClockModel.start(probe, tolerances) : (model?.withProbe(probe) ?? null);
    }
    return model ?? null;
  }

  /**
   * The model narrowed by a probe's two limits; null when it contradicts the stamps so far.
   *
   * @param {Probe} probe
   * @returns {ClockModel | null}
   */
  withProbe(probe) {
    const narrowed = this.#withQuestion(probe.t1_us, probe.t2_us);
    return narrowed && narrowed.#withAnswer(probe.t3_us, probe.t4_us);
  }

  /**
   * Narrowed by one stamp pair downwards: sent in the server's timebase, received on the client's clock.
   *
   * @param {number} sentUs
   * @param {number} receivedUs
   * @returns {ClockModel | null}
   */
  #withAnswer(sentUs, receivedUs) {
    const { client_reference_us, server_reference_us, slack_us } = this.references;
    const xUs = receivedUs - client_reference_us;
    const limitUs = sentUs - server_reference_us - xUs - slack_us;
    return this.#narrowed(keepAbove(this.polygon, xUs, limitUs));
  }

  /**
   * Narrowed by one stamp pair upwards: sent on the client's clock, received in the server's timebase.
   *
   * @param {number} sentUs
   * @param {number} receivedUs
   * @returns {ClockModel | null}
   */
  #withQuestion(sentUs, receivedUs) {
    const { client_reference_us, server_reference_us, slack_us } = this.references;
    const xUs = sentUs - client_reference_us;
    const limitUs = receivedUs - server_reference_us - xUs + slack_us;
    return this.#narrowed(keepBelow(this.polygon, xUs, limitUs));
  }

  /**
   * theta: what to add to the client's stamp to get the server's time, microseconds.
   *
   * @param {number} clientUs
   */
  offsetUs(clientUs) {
    const { client_reference_us, server_reference_us } = this.references;
    return server_reference_us - client_reference_us + this.#relativeOffsetUs(clientUs);
  }

  /**
   * u: how far the offset can be from the truth at most, the quantum of the stamp itself included.
   *
   * @param {number} clientUs
   */
  boundUs(clientUs) {
    const [lowUs, highUs] = extentUs(this.polygon, clientUs - this.references.client_reference_us);
    return (highUs - lowUs) / 2 + this.references.slack_us;
  }

  /** @param {number} clientUs */
  #relativeOffsetUs(clientUs) {
    const [lowUs, highUs] = extentUs(this.polygon, clientUs - this.references.client_reference_us);
    return (lowUs + highUs) / 2;
  }

  /**
   * @param {Polygon} polygon
   * @returns {ClockModel | null}
   */
  #narrowed(polygon) {
    return polygon.length > 0 ? new ClockModel(this.references, polygon) : null;
  }
}
