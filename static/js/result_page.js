/** The page of one phone's result: loads it once and draws it. */

import { byId, sayLoaded, setText } from "./elements.js";
import { drawResult, loadResult, verdictOf } from "./result_view.js";
import { ask } from "./root.js";
import { makeTranslate } from "./texts.js";

const config = JSON.parse(byId(document, "siar-config").textContent ?? "");

main().then(sayLoaded);

async function main() {
  const { language, result_url } = config;
  const texts = await (await ask(`/static/i18n/${language}/result.json`)).json();
  const t = makeTranslate(texts);
  const result = await loadResult(ask, result_url);
  if (result === null) throw new Error("the result did not load");
  const place = byId(document, "result-drawing");
  setText(
    byId(document, "who"),
    t("result.who", { name: result.pseudonym, seat: result.seat, phones: result.phones }),
  );
  setText(byId(document, "run"), t("result.run", { run: result.run }));
  setText(byId(document, "verdict"), verdictOf(result, language));
  drawResult(place, result, { t, language });
}
