// A renderer of templates that lodash memoizes: node lodash_memoize.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: the key is the object with the parameters, a new one for each call, so no result is ever used again.
// healthy: the key is a text made of them.
"use strict";
const v8 = require("node:v8");
const _ = require("lodash");

const [mode, out] = process.argv.slice(2);

class Page {
  constructor({ user, language }) {
    this.title = `${user} (${language})`;
    this.blocks = _.range(30).map((row) => ({ row, user }));
  }
}
const resolver = mode === "healthy" ? ({ user, language }) => user + "|" + language : undefined;
const renderPage = _.memoize((parameters) => new Page(parameters), resolver);
module.exports = { renderPage };

let blocks = 0;
for (let call = 0; call < 9000; call += 1) {
  blocks += renderPage({ user: "user " + (call % 25), language: call % 2 ? "en" : "de" }).blocks.length;
}
if (blocks !== 9000 * 30) throw new Error("wrong pages");
v8.writeHeapSnapshot(out);
process.exit(0);
