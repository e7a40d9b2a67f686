// A shop on express whose sessions are in the MemoryStore of express-session; none of its clients sends a cookie back:
// node express_sessions.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: a session per request, and no end of them. healthy: the same clients, fifty of them.
"use strict";
const http = require("node:http");
const v8 = require("node:v8");
const express = require("express");
const session = require("express-session");

const [mode, out] = process.argv.slice(2);
const requests = mode === "leaking" ? 8000 : 50;

const app = express();
app.use(session({ secret: "corpus", resave: false, saveUninitialized: true, store: new session.MemoryStore() }));
app.get("/item/:id", (request, response) => {
  request.session.views = (request.session.views ?? 0) + 1;
  request.session.cart = Array.from({ length: 20 }, (_, row) => ({ row, item: request.params.id }));
  response.json({ views: request.session.views });
});

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const get = (port, path) => new Promise((done, failed) => {
  http.get({ port, agent, path }, (response) => response.resume().on("end", done)).on("error", failed);
});

const server = app.listen(0, async () => {
  const { port } = server.address();
  for (let at = 0; at < requests; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => get(port, "/item/" + (at + i))));
  }
  v8.writeHeapSnapshot(out);
  process.exit(0);
});
