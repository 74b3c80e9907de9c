/**
 * The first script of each page, which is written into it, as it must be there when nothing else is: it says when the
 * page does not come to life, whether a module is missing or broken, or the browser too old for it. No module itself,
 * and in the JavaScript of 2009, which such a browser reads. The policy names its hash (app/server/web/loading.py).
 */
(function () {
  var DEADLINE_MS = 10000;
  var isLoaded = false;
  var hasFailed = false;

  function draw() {
    var words = document.getElementById("load-failed");
    if (words) words.hidden = isLoaded || !hasFailed;
  }

  function fail() {
    hasFailed = true;
    draw();
  }

  function onError(/** @type {Event} */ event) {
    // A picture or a style sheet that is missing is no reason.
    var target = /** @type {Node} */ (event.target);
    if (target === /** @type {unknown} */ (window) || target.nodeName === "SCRIPT") fail();
  }

  addEventListener("error", onError, true);
  addEventListener("unhandledrejection", fail);
  addEventListener("DOMContentLoaded", draw);
  addEventListener("siar:loaded", function () {
    isLoaded = true;
    draw();
  });
  setTimeout(fail, DEADLINE_MS);
})();
