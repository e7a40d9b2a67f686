// Runs memlab's analysis on a heap snapshot and prints what that cost, as one JSON line.
//
//   node --max-old-space-size=8000 measure.mjs FILE
//
// `getFullHeapFromFile` is memlab's documented way to get a whole heap for analysis: it parses the file, finds the
// shortest path to every node, and computes dominators and retained sizes. memlab has no tables to write.
import { createRequire } from 'node:module';

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: measure.mjs FILE');
  process.exit(2);
}

// The package is CommonJS and prints progress on standard output, which is for the result here.
const { getFullHeapFromFile } = createRequire(import.meta.url)('@memlab/heap-analysis');
const stdout = process.stdout.write.bind(process.stdout);
process.stdout.write = (...args) => process.stderr.write(...args);

const start = performance.now();
const heap = await getFullHeapFromFile(file);
const wall = (performance.now() - start) / 1e3;

// A sum shows that the sizes are there, and lets two runs be compared.
let retained = 0;
heap.nodes.forEach(node => { retained += node.retainedSize; });
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
stdout(`${JSON.stringify({
  peer: 'memlab', nodes: heap.nodes.length, retained_sum: retained,
  cpu_seconds: (userCPUTime + systemCPUTime) / 1e6, wall_seconds: wall, max_rss_bytes: maxRSS * 1024,
})}\n`);
