// A server that tells each client of changes of its settings: node request_listeners.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: the listener of a request stays when the response is over. healthy: it goes with it.
"use strict";
const { EventEmitter } = require("node:events");
const http = require("node:http");
const v8 = require("node:v8");

const [mode, out] = process.argv.slice(2);

class Settings extends EventEmitter {}
const settings = new Settings().setMaxListeners(0);
let changes = 0;

const server = http.createServer((request, response) => {
  const rows = Array.from({ length: 30 }, (_, row) => ({ row, url: request.url }));
  const onSettingsChanged = () => { changes += rows.length; };
  settings.on("changed", onSettingsChanged);
  if (mode === "healthy") response.on("close", () => settings.off("changed", onSettingsChanged));
  response.end("ok");
});

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const get = (port, path) => new Promise((done, failed) => {
  http.get({ port, agent, path }, (response) => response.resume().on("end", done)).on("error", failed);
});
server.listen(0, async () => {
  const { port } = server.address();
  for (let at = 0; at < 3000; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => get(port, "/" + (at + i))));
  }
  settings.emit("changed");
  v8.writeHeapSnapshot(out);
  process.exit(0);
});
