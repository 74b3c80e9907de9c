/** Posts batches of samples in the name of this device. */

/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./outbox.js").SendResult} SendResult */

/** Too early, too many, or not now: these 4xx pass. So do those that say that the device is not known. */
const PASSING_STATUSES = new Set([401, 403, 408, 425, 429]);

/**
 * @param {Pick<import("./device_client.js").DeviceClient, "request">} device
 * @param {Batch} batch
 * @returns {Promise<SendResult>}
 */
export async function sendBatch(device, batch) {
  const { status } = await device.request("POST", "/api/deliveries", (/** @type {any} */ identity) => ({
    device: identity.device,
    ...batch,
  }));
  if (status >= 200 && status < 300) return "accepted";
  return status >= 400 && status < 500 && !PASSING_STATUSES.has(status) ? "refused" : "retry";
}
