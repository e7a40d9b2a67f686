// A service that keeps its orders, and a second reference to its registry that comes later, so the shortest path to the
// orders moves: node --expose-gc moved_path.cjs OUT. Writes OUT/1.heapsnapshot, 2, and 3, the last after the move.
"use strict";
const path = require("node:path");
const v8 = require("node:v8");

class Order {
  constructor(id) {
    this.id = id;
    this.note = "note " + id + " " + (id * 7919) % 10007;
    this.lines = [{ item: id }, { item: id + 1 }];
  }
}

const registry = { inner: { orders: new Map() } };
globalThis.zService = { deep: { registry } };
let last = 0;

function snapshot(name) {
  for (let at = 0; at < 8000; at++) {
    registry.inner.orders.set(++last, new Order(last));
  }
  gc();
  v8.writeHeapSnapshot(path.join(process.argv[2], name + ".heapsnapshot"));
}

snapshot("1");
snapshot("2");
globalThis.aDebug = registry;
snapshot("3");
