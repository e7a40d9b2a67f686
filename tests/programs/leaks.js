// A small service that leaks in three ways at once, or not at all: node leaks.js leaking|healthy OUT.heapsnapshot
"use strict";
const { EventEmitter } = require("node:events");
const v8 = require("node:v8");

class Session {
  constructor(id) {
    this.id = id;
    this.user = { name: "user " + id, visits: [id, id + 1, id + 2] };
    this.token = "token-" + id + "-" + "x".repeat(40 + (id % 7));
  }
}

// A cache that only grows.
class SessionCache {
  constructor() { this.sessions = new Map(); }
  get(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, new Session(id));
    return this.sessions.get(id);
  }
  forget(id) { this.sessions.delete(id); }
}

// Listeners that are never removed, each with what it was made for.
class Ticker extends EventEmitter {}
class Subscription {
  constructor(id) { this.rows = Array.from({ length: 60 }, (_, row) => ({ row, id })); }
  tick() { return this.rows.length; }
}

// A closure that keeps a large buffer for one number of it.
const summarize = () => {
  const upload = Buffer.alloc(12 << 20, 7);
  return () => upload[0];
};

const leaking = process.argv[2] === "leaking";
const cache = new SessionCache();
const ticker = new Ticker();
ticker.setMaxListeners(0);
const summaries = [];
for (let request = 0; request < 40_000; request += 1) {
  cache.get(request);
  if (!leaking) cache.forget(request);
  if (request % 8 === 0) {
    const subscription = new Subscription(request);
    const listener = () => subscription.tick();
    ticker.on("tick", listener);
    if (!leaking) ticker.off("tick", listener);
  }
}
if (leaking) summaries.push(summarize()); else summarize()();
global.service = { cache, ticker, summaries };
v8.writeHeapSnapshot(process.argv[3]);
