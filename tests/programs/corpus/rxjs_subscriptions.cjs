// Widgets that watch a stream of prices of rxjs: node rxjs_subscriptions.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: a widget that is closed stays subscribed. healthy: it unsubscribes; ten are open.
"use strict";
const v8 = require("node:v8");
const { Subject } = require("rxjs");
const { filter, map } = require("rxjs/operators");

const [mode, out] = process.argv.slice(2);

class PriceFeed {
  constructor() { this.prices = new Subject(); }
}

class Widget {
  constructor(feed, symbol) {
    this.history = Array.from({ length: 60 }, (_, row) => ({ row, symbol }));
    const mine = feed.prices.pipe(filter((tick) => tick.symbol === symbol), map((tick) => tick.price));
    this.subscription = mine.subscribe((price) => { this.history[0].price = price; });
  }
  close() {
    if (mode === "healthy") this.subscription.unsubscribe();
  }
}

const feed = new PriceFeed();
module.exports = { feed };
const open = [];
for (let at = 0; at < 4000; at += 1) {
  open.push(new Widget(feed, "S" + (at % 30)));
  if (open.length > 10) open.shift().close();
  if (at % 100 === 0) feed.prices.next({ symbol: "S" + (at % 30), price: at });
}
v8.writeHeapSnapshot(out);
process.exit(0);
