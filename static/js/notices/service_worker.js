/**
 * The service worker behind `notices.js`: brings the page to the front when one of its notifications is pressed.
 *
 * It keeps nothing and answers no request. Its folder is its scope, and nothing else lies in there: no page and no worker
 * ever runs under it, and no load of a page makes the browser look for a newer one, so that measuring does not notice it.
 */

const itself = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

/** The phone's page; a proxy may show it below a prefix. */
const home = new URL("../../../", itself.location.href).pathname;

itself.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(bringToFront());
});

/** The page that is open, or a new one where it was closed. */
async function bringToFront() {
  const pages = await itself.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find(({ url }) => new URL(url).pathname === home);
  await (page ? page.focus() : itself.clients.openWindow(home));
}
