// A service on fastify with a cache of answers: node fastify_cache.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: the key of the cache is the whole URL, in which every request has a token of its own. healthy: it is the item.
"use strict";
const { setImmediate: nextTurn } = require("node:timers/promises");
const v8 = require("node:v8");
const fastify = require("fastify");

const [mode, out] = process.argv.slice(2);

class ResponseCache {
  constructor() { this.answers = new Map(); }
  of(key, make) {
    if (!this.answers.has(key)) this.answers.set(key, make());
    return this.answers.get(key);
  }
}

class Answer {
  constructor(item) {
    this.item = item;
    this.prices = Array.from({ length: 40 }, (_, day) => ({ day, price: day * 7 }));
  }
}

async function main() {
  const app = fastify();
  app.decorate("responseCache", new ResponseCache());
  app.get("/prices/:item", async (request) => {
    const key = mode === "leaking" ? request.url : request.params.item;
    const answer = app.responseCache.of(key, () => new Answer(request.params.item));
    return { item: answer.item, days: answer.prices.length };
  });
  await app.ready();
  for (let at = 0; at < 6000; at += 1) {
    await app.inject(`/prices/${at % 20}?token=${at}`);
    // Streams end in the next turn of the event loop.
    await nextTurn();
  }
  v8.writeHeapSnapshot(out);
  process.exit(0);
}
main();
