/** Asks the server as the operator: one place for the header, the time limit and what a failure means. */

import { timeoutSignal } from "../timeout.js";

const ANSWER_TIMEOUT_MS = 15_000;

/**
 * @typedef {{status: number, data: any, detail: string, code: string, retry_after_s: number}} Answer
 *   `status` 0: the server did not answer, or not to the end. `detail`: the server's own words of what is wrong.
 *   `code`: the same, stable
 */

export class Api {
  #fetch;
  #language;

  /**
   * @param {(path: string, request: RequestInit) => Promise<Response>} fetch
   * @param {string} language the page's, in which the server is to say what it says
   */
  constructor(fetch, language) {
    this.#fetch = fetch;
    this.#language = language;
  }

  /**
   * One request; it never throws.
   *
   * @param {string} method
   * @param {string} path
   * @param {{body?: unknown, token?: string}} [extra] `token`: prove to be the operator by it, as a script does
   * @returns {Promise<Answer>}
   */
  async ask(method, path, { body, token } = {}) {
    /** @type {Record<string, string>} */
    const headers = { "X-Siar": "1", "Accept-Language": this.#language };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (token !== undefined) headers.Authorization = `Bearer ${token}`;
    try {
      const response = await this.#fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: "no-store",
        signal: timeoutSignal(ANSWER_TIMEOUT_MS),
      });
      const data = await response.json().catch((/** @type {Error} */ error) => {
        // What breaks off is no answer, whatever its status was; an answer may do without JSON.
        if (error.name !== "SyntaxError") throw error;
        return null;
      });
      // A question answered well but without JSON was answered by another, as by a Wi-Fi's sign-in page.
      const isForeign = method === "GET" && response.ok && data === null;
      return {
        status: isForeign ? 0 : response.status,
        data,
        detail: String(data?.detail ?? ""),
        code: String(data?.code ?? ""),
        retry_after_s: Number(response.headers.get("Retry-After") ?? 0),
      };
    } catch {
      return { status: 0, data: null, detail: "", code: "", retry_after_s: 0 };
    }
  }
}

/** @param {Answer} answer */
export function isGood({ status }) {
  return status >= 200 && status < 300;
}

/**
 * What went wrong, and what to do.
 *
 * @param {Answer} answer
 * @param {import("./types.js").Speech} speech
 */
export function failureWords({ status, detail, retry_after_s }, { t }) {
  if (status === 0) return t("problem.server_away");
  if (status === 401) return t("problem.signed_out");
  if (status === 429) return t("problem.too_many", { seconds: Math.max(1, Math.ceil(retry_after_s)) });
  return t("problem.refused", { detail: detail || String(status) });
}
