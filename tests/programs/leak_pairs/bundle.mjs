// Bundles main.js: node bundle.mjs TOOL before|after FOLDER_WITH_THE_TOOLS OUT_FOLDER; prints the bundle's path.
import { cpSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [tool, version, tools, out] = process.argv.slice(2);
const require = createRequire(join(resolve(tools), "package.json"));
const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(out);
const source = join(folder, "source");
const dist = join(folder, "dist");
mkdirSync(source, { recursive: true });
cpSync(here, source, { recursive: true });
if (version === "after") renameSync(join(source, "elsewhere_after.js"), join(source, "elsewhere.js"));
const entry = join(source, "main.js");

async function webpack(mode, minimize) {
  const run = require("webpack");
  const Terser = require("terser-webpack-plugin");
  const config = {
    mode,
    entry,
    context: source,
    target: "node",
    devtool: mode === "development" ? "eval" : false,
    output: { path: dist, filename: "[name].[contenthash].cjs" },
    optimization: {
      minimize,
      minimizer: [new Terser({ terserOptions: { keep_classnames: true, keep_fnames: true } })],
    },
  };
  const stats = await new Promise((done, failed) => run(config, (error, stats) => error ? failed(error) : done(stats)));
  if (stats.hasErrors()) throw new Error(stats.toString());
}

async function rollup() {
  const bundle = await require("rollup").rollup({ input: entry, external: /^node:/ });
  await bundle.write({ dir: dist, format: "es", entryFileNames: "[name]-[hash].mjs" });
}

async function vite() {
  const { build } = await import(require.resolve("vite").replace("index.cjs", "node/index.js"));
  await build({
    root: source,
    logLevel: "error",
    build: { ssr: entry, outDir: dist, rollupOptions: { output: { entryFileNames: "assets/[name]-[hash].mjs" } } },
  });
}

function esbuild(more) {
  require("esbuild").buildSync({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: dist,
    outExtension: { ".js": ".mjs" },
    entryNames: "[name].[hash]",
    ...more,
  });
}

const makers = {
  webpack: () => webpack("production", false),
  webpack_terser: () => webpack("production", true),
  webpack_eval: () => webpack("development", false),
  rollup,
  vite,
  esbuild: () => esbuild({}),
  esbuild_dense: () => esbuild({ minifyWhitespace: true, minifySyntax: true }),
};
await makers[tool]();
const files = readdirSync(dist, { recursive: true }).filter((file) => /\.[cm]js$/.test(file));
process.stdout.write(join(dist, files.find((file) => file.includes("main"))) + "\n");
