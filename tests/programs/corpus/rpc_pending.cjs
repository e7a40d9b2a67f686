// A client of a queue that waits for answers: node rpc_pending.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: one answer in two never comes, and no call has a deadline. healthy: every answer comes.
"use strict";
const v8 = require("node:v8");

const [mode, out] = process.argv.slice(2);

class RpcClient {
  constructor(send) { this.send = send; this.inFlight = new Map(); this.last = 0; }
  call(method, body) {
    const id = (this.last += 1);
    return new Promise((resolve, reject) => {
      this.inFlight.set(id, { method, body, resolve, reject });
      this.send(id, body);
    });
  }
  answered(id, answer) {
    this.inFlight.get(id).resolve(answer);
    this.inFlight.delete(id);
  }
}

const lost = (id) => mode === "leaking" && id % 2 === 0;
const client = new RpcClient((id, body) => {
  if (!lost(id)) queueMicrotask(() => client.answered(id, body.rows.length));
});
module.exports = { client };

let rows = 0;
async function handle(order) {
  rows += await client.call("price", { rows: Array.from({ length: 40 }, (_, row) => ({ row, order })) });
}
for (let order = 0; order < 8000; order += 1) handle(order);
setImmediate(() => {
  if (rows === 0) throw new Error("no answers");
  v8.writeHeapSnapshot(out);
  process.exit(0);
});
