// Bundles rxjs with rollup and keeps the bundle for the next build. No leak: node rollup.cjs healthy OUT.heapsnapshot
"use strict";
const path = require("node:path");
const v8 = require("node:v8");
const { rollup } = require("@rollup/wasm-node");

async function main() {
  // Its package as modules, with relative imports only.
  const input = path.join(path.dirname(require.resolve("rxjs/package.json")), "dist/esm5/index.js");
  const bundle = await rollup({ input, external: ["tslib"], cache: true });
  const { output } = await bundle.generate({ format: "es" });
  v8.writeHeapSnapshot(process.argv[3]);
  if (bundle.cache.modules.length < 100 || output.length !== 1) throw new Error("not bundled");
  process.exit(0);
}
main();
