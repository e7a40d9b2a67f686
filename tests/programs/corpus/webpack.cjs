// Bundles lodash and rxjs with webpack, twice, as its watch mode does. No leak: node webpack.cjs healthy OUT.heapsnapshot
"use strict";
const path = require("node:path");
const v8 = require("node:v8");
const webpack = require("webpack");

const out = process.argv[3];
const compiler = webpack({
  mode: "development",
  context: __dirname,
  entry: { lodash: require.resolve("lodash"), rxjs: require.resolve("rxjs") },
  output: { path: path.join(path.dirname(out), "dist") },
  cache: true,
});
const build = () => new Promise((done, failed) => {
  compiler.run((error, stats) => (error || stats.hasErrors() ? failed(error ?? stats.toString()) : done(stats)));
});

async function main() {
  await build();
  const stats = await build();
  v8.writeHeapSnapshot(out);
  if (stats.compilation.modules.size < 100) throw new Error("too few modules");
  process.exit(0);
}
main();
