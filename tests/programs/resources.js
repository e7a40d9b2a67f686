// What nobody ends: one kind of it, all kinds, or none:
// node resources.js realms|timers|listeners|targets|promises|thens|memo|wasm|ring|all|healthy OUT.heapsnapshot
"use strict";
const { EventEmitter } = require("node:events");
const v8 = require("node:v8");
const vm = require("node:vm");

// What each of them keeps: some rows. All kinds together are fewer, with rows that are no objects, for a small file.
const all = process.argv[2] === "all";
const many = all ? 150 : 3000;
class Report {
  constructor(id) { this.rows = all ? new Array(1500).fill(0) : Array.from({ length: 60 }, (_, row) => ({ row, id })); }
  size() { return this.rows.length; }
}

// As a test runner does: a context per file. Callbacks that are never removed keep them.
const callbacks = [];
const runTestFile = (id) => {
  const context = vm.createContext({ id });
  const rows = all ? "new Array(60_000).fill(0)" : "Array.from({ length: 9000 }, (_, row) => ({ row, id }))";
  const source = `const data = ${rows}; (function afterAll() { return data.length; })`;
  return vm.runInContext(source, context, { filename: "suite" + id + ".test.js" });
};

class Poller {
  constructor(id) { this.report = new Report(id); }
  start() { return setInterval(() => this.report.size(), 1_000_000); }
}

class Bus extends EventEmitter {}
const bus = new Bus();
bus.setMaxListeners(0);
const subscribe = (id) => {
  const report = new Report(id);
  const onOrder = () => report.size();
  bus.on("order", onOrder);
  return () => bus.off("order", onOrder);
};

const target = new EventTarget();
const watch = (id) => {
  const report = new Report(id);
  const onAbort = () => report.size();
  target.addEventListener("abort", onAbort);
  return () => target.removeEventListener("abort", onAbort);
};

// A gate that nobody opens, and functions that wait for it.
let open;
const gate = new Promise((resolve) => { open = resolve; });
const waitForTurn = async (id) => {
  const report = new Report(id);
  await gate;
  return report.size();
};
const callWaiter = async (id) => waitForTurn(id);
const chained = (id) => {
  const report = new Report(id);
  gate.then(function whenOpen() { return report.size(); });
};

const memoize = (compute) => {
  const cache = new Map();
  return function memoized(key) {
    if (!cache.has(key)) cache.set(key, compute(key));
    return cache.get(key);
  };
};
const reportOf = memoize((id) => new Report(id));
const instances = [];

// A circular list with links both ways, as a runtime registers its handles: the head alone dominates every element.
class Handle {
  constructor(report) { this.report = report; this.next = this.previous = this; }
  insert(other) {
    other.next = this.next;
    other.previous = this;
    this.next.previous = other;
    this.next = other;
  }
}
const handles = new Handle(null);

const sins = {
  realms: () => { for (let id = 0; id < 11; id += 1) callbacks.push(runTestFile(id)); },
  timers: () => { for (let id = 0; id < many; id += 1) new Poller(id).start(); },
  listeners: () => { for (let id = 0; id < many; id += 1) subscribe(id); },
  targets: () => { for (let id = 0; id < many; id += 1) watch(id); },
  promises: () => { for (let id = 0; id < many; id += 1) callWaiter(id); },
  thens: () => { for (let id = 0; id < many; id += 1) chained(id); },
  memo: () => { for (let id = 0; id < (all ? 1000 : many); id += 1) reportOf("report " + id); },
  wasm: () => { for (let id = 0; id < 6; id += 1) instances.push(new WebAssembly.Memory({ initial: 32 })); },
  ring: () => { for (let id = 0; id < many; id += 1) handles.insert(new Handle(new Report(id))); },
  // The same, ended in time: one of each is left.
  healthy: () => {
    runTestFile(0)();
    callbacks.push(runTestFile(1));
    for (let id = 0; id < 3000; id += 1) {
      clearInterval(new Poller(id).start());
      subscribe(id)();
      watch(id)();
    }
    new Poller(0).start();
    subscribe(0);
    watch(0);
    waitForTurn(0);
    for (let id = 0; id < 300; id += 1) reportOf("report " + (id % 10));
    instances.push(new WebAssembly.Memory({ initial: 32 }));
  },
};
sins.all = () => {
  const { healthy: _, all: __, ring: ___, ...rest } = sins;
  Object.values(rest).forEach((sin) => sin());
};
sins[process.argv[2]]();
global.program = { bus, target, gate, open, reportOf, instances, handles };
v8.writeHeapSnapshot(process.argv[3]);
process.exit(0);
