// Checks a program of forty files with TypeScript and keeps it, as an editor does. No leak:
// node typescript.cjs healthy OUT.heapsnapshot
"use strict";
const v8 = require("node:v8");
const ts = require("typescript");

const files = new Map();
for (let at = 0; at < 40; at += 1) {
  const next = (at + 1) % 40;
  files.set(`/app/file${at}.ts`, `
    import { Part${next} } from "./file${next}";
    export interface Part${at} { name: string; next?: Part${next}; load(page: number): Promise<Part${at}[]> }
    export async function names${at}(part: Part${at}) {
      const parts = await part.load(1);
      return new Map(parts.map((found) => [found.name, found.next]));
    }
  `);
}
const options = { target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"], strict: true, types: [] };
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.getSourceFile = (name, version) =>
  files.has(name) ? ts.createSourceFile(name, files.get(name), version) : getSourceFile.call(host, name, version);
host.fileExists = (name) => files.has(name) || fileExists.call(host, name);
host.readFile = (name) => files.get(name) ?? readFile.call(host, name);

host.directoryExists = undefined;

const program = ts.createProgram([...files.keys()], options, host);
const errors = ts.getPreEmitDiagnostics(program);
if (errors.length > 0) throw new Error(ts.formatDiagnostics(errors, host));
v8.writeHeapSnapshot(process.argv[3]);
// An editor would go on with it.
if (program.getSourceFiles().length < 40) throw new Error("too few files");
process.exit(0);
