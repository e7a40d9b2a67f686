// Runs suites of tests as jest does, each in a context of its own: node jest_contexts.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: each suite loads a module that wraps a function of `fs`, and nobody puts the old one back, so each context
// holds the one before. healthy: the runner puts it back.
"use strict";
const fs = require("node:fs");
const { setImmediate: nextTurn, setTimeout } = require("node:timers/promises");
const v8 = require("node:v8");
const vm = require("node:vm");

const [mode, out] = process.argv.slice(2);

// As graceful-fs does.
const gracefulFs = `
  const close = fs.closeSync;
  fs.closeSync = function closeSync(descriptor) { retries.length; return close.call(fs, descriptor); };
  const retries = [];
`;
const suite = `
  const rows = Array.from({ length: 3000 }, (_, row) => ({ row, name: "row " + row }));
  tests.push(function countsRows() { return rows.length === 3000; });
`;

class Runner {
  constructor() { this.passed = 0; }
  run(name) {
    const close = fs.closeSync;
    const tests = [];
    const context = vm.createContext({ fs, tests });
    vm.runInContext(gracefulFs, context, { filename: "/repo/node_modules/graceful-fs/index.js" });
    vm.runInContext(suite, context, { filename: "/repo/tests/" + name });
    for (const test of tests) this.passed += test();
    if (mode === "healthy") fs.closeSync = close;
  }
}

// One after the other, as they would be read from disk.
async function main() {
  const runner = new Runner();
  for (let at = 0; at < 25; at += 1) {
    runner.run("suite" + at + ".test.js");
    await nextTurn();
  }
  // V8 compiles in the background meanwhile; a job that waits has handles to prototypes of all contexts, dead ones too.
  await setTimeout(300);
  if (runner.passed !== 25) throw new Error("failed tests");
  v8.writeHeapSnapshot(out);
  process.exit(0);
}
main();
