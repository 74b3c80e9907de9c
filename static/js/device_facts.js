/** What the browser tells about its device; as much as is useful to read a result, and not more. */

/** @typedef {{brands?: {brand: string, version: string}[], getHighEntropyValues?: (names: string[]) => Promise<{model?: string}>}} UserAgentData */

const CHARS_MAX = 60;

/** Names of browsers by what their user agents say, the more special first. */
const BROWSERS = /** @type {const} */ ([
  ["Edge", /Edg(?:A|iOS)?\/(\d+)/],
  ["Samsung Internet", /SamsungBrowser\/(\d+)/],
  ["Firefox", /(?:Firefox|FxiOS)\/(\d+)/],
  ["Chrome", /(?:Chrome|CriOS)\/(\d+)/],
  ["Safari", /Version\/(\d+).*Safari/],
]);

/**
 * @param {Navigator & {userAgentData?: UserAgentData}} navigator
 * @returns {Promise<import("./types.js").DeviceFacts>}
 */
export async function readFacts(navigator) {
  const model = await modelOf(navigator);
  const browser = browserOf(navigator.userAgent);
  return {
    ...(model ? { model: model.slice(0, CHARS_MAX) } : {}),
    ...(browser ? { browser } : {}),
    secure_context: isSecureContext,
    wake_lock: "wakeLock" in navigator,
    timer_step_us: 0,
  };
}

/** @param {Navigator & {userAgentData?: UserAgentData}} navigator */
async function modelOf({ userAgent, userAgentData }) {
  try {
    const { model } = (await userAgentData?.getHighEntropyValues?.(["model"])) ?? {};
    if (model) return model;
  } catch {
    // Not allowed here: what the user agent says is enough.
  }
  return modelFrom(userAgent);
}

/**
 * The model that a user agent names; empty when it names none. Newer Chromes say "K" for every phone.
 *
 * @param {string} userAgent
 */
export function modelFrom(userAgent) {
  const apple = /\((iPhone|iPad|Macintosh)/.exec(userAgent);
  if (apple) return apple[1];
  const android = /Android [\d.]+; (?:[a-z]{2}[-_][A-Za-z]{2}; )?([^;)]+?)(?: Build\/[^;)]*)?\)/.exec(
    userAgent,
  );
  return android && android[1] !== "K" ? android[1] : "";
}

/** @param {string} userAgent */
export function browserOf(userAgent) {
  for (const [name, pattern] of BROWSERS) {
    const match = pattern.exec(userAgent);
    if (match) return `${name} ${match[1]}`;
  }
  return "";
}
