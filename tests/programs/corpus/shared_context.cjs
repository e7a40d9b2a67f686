// Replaces a connection again and again: node shared_context.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: functions of one call share a context, so the handler of the new connection holds the old connection, which
// only the function that nobody calls uses. healthy: that function is not there.
"use strict";
const v8 = require("node:v8");

const [mode, out] = process.argv.slice(2);

class Connection {
  constructor(handler) {
    this.buffer = Array.from({ length: 200 }, (_, row) => ({ row }));
    this.handler = handler;
  }
}

let connection = null;
function reconnectLeaking() {
  const previous = connection;
  const unused = () => { if (previous) return "was connected"; };
  connection = new Connection(function onData() { return 1; });
  return unused.length;
}
function reconnect() {
  connection = new Connection(function onData() { return 1; });
}
for (let at = 0; at < 3000; at += 1) (mode === "leaking" ? reconnectLeaking : reconnect)();
module.exports = { current: () => connection };
v8.writeHeapSnapshot(out);
process.exit(0);
