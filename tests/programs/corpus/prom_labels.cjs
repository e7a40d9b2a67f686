// A service that measures its requests with prom-client: node prom_labels.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: the path of the request, with the number of a user in it, is a label. healthy: the route is.
"use strict";
const v8 = require("node:v8");
const client = require("prom-client");

const [mode, out] = process.argv.slice(2);
const duration = new client.Histogram({
  name: "http_request_duration_seconds",
  help: "Duration of requests",
  labelNames: ["path", "code"],
});
const total = new client.Counter({ name: "http_requests_total", help: "Requests", labelNames: ["method"] });
for (let user = 0; user < 9000; user += 1) {
  const path = mode === "leaking" ? "/user/" + user : "/user/:id";
  duration.observe({ path, code: user % 50 ? 200 : 404 }, (user % 97) / 100);
  total.inc({ method: user % 3 ? "GET" : "POST" });
}
// What Prometheus fetches; the text is gone again when the snapshot is taken.
client.register.metrics().then((text) => {
  if (!text.includes("http_request_duration_seconds_count")) throw new Error("no metrics");
  setImmediate(() => {
    v8.writeHeapSnapshot(out);
    process.exit(0);
  });
});
