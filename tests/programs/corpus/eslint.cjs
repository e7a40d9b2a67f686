// Lints a large file with all rules that eslint recommends. No leak: node eslint.cjs healthy OUT.heapsnapshot
"use strict";
const fs = require("node:fs");
const v8 = require("node:v8");
const { Linter } = require("eslint");
const js = require("@eslint/js");

const linter = new Linter();
const text = fs.readFileSync(require.resolve("lodash"), "utf8");
const messages = linter.verify(text, [js.configs.recommended], { filename: "lodash.js" });
if (messages.length === 0) throw new Error("nothing was linted");
v8.writeHeapSnapshot(process.argv[3]);
// Needed until here: what was linted, and the linter with its syntax tree.
if (linter.getSourceCode().text !== text) throw new Error("another text");
process.exit(0);
