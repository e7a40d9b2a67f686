// Runs the heap snapshot worker of Chrome DevTools on a file, without a browser.
//
//   node devtools.mjs FILE OUTPREFIX    writes OUTPREFIX.devtools.tsv (nodes) and OUTPREFIX.devtools.tsv.classes
//   node devtools.mjs --diff BASE TARGET OUTPREFIX    writes OUTPREFIX.devtools.tsv.diff, its comparison of two snapshots
//   node devtools.mjs --allocations FILE OUTPREFIX    writes OUTPREFIX.devtools.tsv.allocations, its allocation view and
//                                                     time line of a snapshot with allocation tracking
//   node devtools.mjs --measure FILE    same analysis, no tables; one JSON line with processor time and peak memory
//
// With --no-traces in front the worker skips allocation stacks. It needs that for files whose header counts fewer
// functions than the file has, on which it fails otherwise; no table depends on the stacks.
//
// Run `npm install` first. For big files give Node more heap: node --max-old-space-size=8000 devtools.mjs ...
// As in the browser, dominators and retained sizes are computed by a second worker thread.
import fs from 'node:fs';
import { isMainThread, MessageChannel, parentPort, Worker } from 'node:worker_threads';
import { getHeapStatistics } from 'node:v8';

// Older Node lacks this; the loader waits for chunks with it.
Promise.withResolvers ??= () => {
  const r = {};
  r.promise = new Promise((resolve, reject) => Object.assign(r, { resolve, reject }));
  return r;
};

const { HeapSnapshot, HeapSnapshotLoader } = await import('./node_modules/.cache/heap_snapshot_worker.mjs');

// Size of the pieces in which the DevTools window hands a file to its worker.
const CHUNK = 10_000_000;

async function load(file, traces) {
  // A thread does not inherit the heap limit of the command line.
  const heapMb = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
  const second = new Worker(new URL(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: heapMb } });
  const { port1, port2 } = new MessageChannel();
  second.postMessage(port2, [port2]);
  const failed = new Promise((_, reject) => second.once('error', reject));

  const loader = new HeapSnapshotLoader.HeapSnapshotLoader({ sendEvent() {} });
  let first = true;
  for await (let text of fs.createReadStream(file, { encoding: 'utf8', highWaterMark: CHUNK })) {
    // The worker reads stacks only if the header says that there are functions, and no more functions than it says.
    if (first && traces !== true) text = text.replace(/("trace_function_count"\s*:\s*)\d+/, `$1${traces || 0}`);
    first = false;
    loader.write(text);
  }
  loader.close();
  const snapshot = await Promise.race([loader.buildSnapshot(port1), failed]);
  port1.close();
  await second.terminate();
  return snapshot;
}

// Functions that a file really has: V8 writes those that it meets while it writes, too, and not their number.
function functionsOf(file) {
  const { snapshot, trace_function_infos } = JSON.parse(fs.readFileSync(file, 'utf8'));
  return trace_function_infos.length / snapshot.meta.trace_function_info_fields.length;
}

// Buffers lines, for the big files have millions of them.
class Lines {
  constructor(path) {
    this.fd = fs.openSync(path, 'w');
    this.text = '';
  }
  add(...fields) {
    this.text += fields.join('\t') + '\n';
    if (this.text.length > 1 << 20) this.flush();
  }
  flush() {
    fs.writeSync(this.fd, this.text);
    this.text = '';
  }
  close() {
    this.flush();
    fs.closeSync(this.fd);
  }
}

// One line, no tabs, no lone surrogates: the inside of a JSON string.
const cut = text => JSON.stringify(text.slice(0, 60)).slice(1, -1);

function writeNodes(snapshot, path) {
  const out = new Lines(path);
  out.add('ordinal', 'id', 'type', 'name', 'self_size', 'retained_size', 'distance', 'dominator_ordinal', 'class_key',
    'detachedness', 'trace_node_id');
  const node = snapshot.createNode(0);
  const width = snapshot.nodeFieldCount;
  const traced = snapshot.nodeTraceNodeIdOffset >= 0;
  for (let i = 0; i < snapshot.nodeCount; i++) {
    node.nodeIndex = i * width;
    const key = node.classKeyInternal();
    out.add(i, node.id(), node.type(), cut(node.name()), node.selfSize(), node.retainedSize(), node.distance(),
      node.dominatorIndex() / width, cut(typeof key === 'number' ? ',' + snapshot.strings[key] : key),
      node.detachedness(), traced ? node.traceNodeId() : 0);
  }
  out.close();
}

function writeClasses(classes, path) {
  const out = new Lines(path);
  out.add('class_key', 'name', 'count', 'self', 'maxRet', 'distance');
  for (const [key, c] of Object.entries(classes)) {
    out.add(JSON.stringify(key), JSON.stringify(c.name), c.count, c.self, c.maxRet, c.distance);
  }
  out.close();
}

// As the comparison view asks for it: the older snapshot is classified with the interfaces of the newer one.
function writeDiff(base, target, path) {
  const out = new Lines(path);
  out.add('class_key', 'name', 'added', 'removed', 'countDelta', 'addedSize', 'removedSize', 'sizeDelta');
  const diff = target.calculateSnapshotDiff('base', base.aggregatesForDiff(target.interfaceDefinitions()));
  for (const [key, d] of Object.entries(diff)) {
    out.add(JSON.stringify(key), JSON.stringify(d.name), d.addedCount, d.removedCount, d.countDelta, d.addedSize,
      d.removedSize, d.sizeDelta);
  }
  out.close();
}

const place = f => [JSON.stringify(f.name), JSON.stringify(f.scriptName), f.scriptId, f.line, f.column];
const amounts = f => [f.count, f.size, f.liveCount, f.liveSize];

// The callers of a function, the callers of these and so on, as the view opens them; depth 0 is the function.
function writeCallers(snapshot, out, node, depth) {
  out.add('stack', depth, ...place(node), ...amounts(node));
  if (!node.hasChildren) return;
  const { nodesWithSingleCaller, branchingCallers } = snapshot.allocationNodeCallers(node.id);
  // A chain of single callers is shown at once: each calls the one before it.
  for (const caller of nodesWithSingleCaller) out.add('stack', depth += 1, ...place(caller), ...amounts(caller));
  for (const caller of branchingCallers) writeCallers(snapshot, out, caller, depth + 1);
}

// The classes that are listed when a function or a range of the time line is selected.
function writeClassesOf(snapshot, out, what, filter) {
  for (const c of Object.values(snapshot.aggregatesWithFilter(filter))) {
    out.add(...what, JSON.stringify(c.name), c.count, c.self);
  }
}

function writeAllocations(snapshot, path) {
  const out = new Lines(path);
  const samples = snapshot.getSamples();
  samples?.timestamps.forEach((time, i) => {
    out.add('sample', i, time, samples.lastAssignedIds[i], samples.sizes[i]);
    const minNodeId = i > 0 ? samples.lastAssignedIds[i - 1] : 0;
    writeClassesOf(snapshot, out, ['range', i], { minNodeId, maxNodeId: samples.lastAssignedIds[i] });
  });
  for (const top of snapshot.allocationTracesTops()) {
    writeCallers(snapshot, out, top, 0);
    writeClassesOf(snapshot, out, ['function', ...place(top)], { allocationNodeId: top.id });
  }
  out.close();
}

if (!isMainThread) {
  parentPort.once('message', port => new HeapSnapshot.SecondaryInitManager(port));
} else {
  const args = process.argv.slice(2);
  const traces = args[0] !== '--no-traces';
  if (!traces) args.shift();
  if (args[0] === '--diff' && args.length === 4) {
    writeDiff(await load(args[1], traces), await load(args[2], traces), `${args[3]}.devtools.tsv.diff`);
    process.exit(0);
  }
  if (args[0] === '--allocations' && args.length === 3) {
    writeAllocations(await load(args[1], functionsOf(args[1])), `${args[2]}.devtools.tsv.allocations`);
    process.exit(0);
  }
  const measure = args[0] === '--measure';
  const [file, prefix] = measure ? args.slice(1) : args;
  if (!file || measure === Boolean(prefix)) {
    console.error('usage: devtools.mjs [--no-traces] (FILE OUTPREFIX | --diff BASE TARGET OUTPREFIX | --allocations FILE OUTPREFIX | --measure FILE)');
    process.exit(2);
  }
  const start = performance.now();
  const snapshot = await load(file, traces);
  const classes = snapshot.aggregatesWithFilter({});
  if (measure) {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    console.log(JSON.stringify({
      peer: 'devtools', nodes: snapshot.nodeCount, total_size: snapshot.totalSize,
      cpu_seconds: (userCPUTime + systemCPUTime) / 1e6, wall_seconds: (performance.now() - start) / 1e3,
      max_rss_bytes: maxRSS * 1024,
    }));
  } else {
    writeNodes(snapshot, `${prefix}.devtools.tsv`);
    writeClasses(classes, `${prefix}.devtools.tsv.classes`);
  }
}
