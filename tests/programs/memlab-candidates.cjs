// memlab's candidates of leaks, before its filters: node memlab-candidates.cjs NODE_MODULES BASE TARGET FINAL
//
// NODE_MODULES is a folder with @memlab/core and @memlab/api. Prints the ids, ascending, a line each.
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const [modules, base, target, last] = process.argv.slice(2);
const load = name => require(require.resolve(name, { paths: [modules] }));
const { config } = load('@memlab/core');
const { findLeaksBySnapshotFilePaths } = load('@memlab/api');

// It reports on standard output, which is for the ids here.
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = (...args) => process.stderr.write(...args);

let candidates = null;
config.externalLeakFilter = {
  beforeLeakFilter: (_, ids) => { candidates = [...ids]; },
  // Nothing is left to be traced.
  leakFilter: () => false,
};
const workDir = fs.mkdtempSync(path.join(os.tmpdir(), 'memlab-'));
findLeaksBySnapshotFilePaths(base, target, last, { workDir }).then(() => {
  fs.rmSync(workDir, { recursive: true });
  if (!candidates) throw new Error('memlab did not filter');
  print(candidates.sort((a, b) => a - b).map(id => `${id}\n`).join(''), () => process.exit(0));
});
