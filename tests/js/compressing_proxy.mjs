/** A development server as front-end tools set it up: everything is compressed, and passed on under the target's Host. */

import compression from "compression";
import express from "express";
import { createProxyMiddleware } from "http-proxy-middleware";

const [port, backend, xfwd] = process.argv.slice(2);
const app = express();
const proxy = createProxyMiddleware({
  target: `http://127.0.0.1:${backend}`,
  changeOrigin: true,
  ws: true,
  xfwd: xfwd === "xfwd",
  logLevel: "silent",
});
app.use(compression());
app.use(proxy);
app.listen(Number(port), "127.0.0.1").on("upgrade", proxy.upgrade);
