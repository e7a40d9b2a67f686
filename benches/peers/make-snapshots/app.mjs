// Makes a heap snapshot of a program with many kinds of JavaScript objects.
//
//   node app.mjs OUT.heapsnapshot [SCALE] [MODE]
//
// SCALE (default 1) multiplies the number of objects. MODE:
//   plain      v8.writeHeapSnapshot (default)
//   alloc      allocation tracking is on while the objects are made; the snapshot has stacks and samples
//   numeric    numbers captured
//   internals  numbers captured and V8's internals exposed
import crypto from 'node:crypto';
import fs from 'node:fs';
import { Session } from 'node:inspector/promises';
import v8 from 'node:v8';

const [out, scaleText = '1', mode = 'plain'] = process.argv.slice(2);
const scale = Number(scaleText);
if (!out || !(scale > 0)) {
  console.error('usage: app.mjs OUT.heapsnapshot [SCALE] [plain|alloc|numeric|internals]');
  process.exit(2);
}
const times = n => Math.max(1, Math.round(n * scale));

class Point { constructor(x, y) { this.x = x; this.y = y; } }
class Named { #secret; constructor(name) { this.name = name; this.#secret = name.length; } size() { return this.#secret; } }
class Customer extends Named {
  constructor(id) {
    super('customer ' + id);
    this.id = id;
    this.place = new Point(id / 3, -id / 7);
    this.orders = [];
    this.tags = new Set([id % 10, 'tag' + (id % 50)]);
  }
}
class Order {
  constructor(customer, n) {
    this.customer = customer;
    this.number = n;
    this.lines = Array.from({ length: n % 5 }, (_, i) => ({ sku: `sku-${n % 97}-${i}`, count: i, price: i * 1.25 }));
    this.placed = new Date(1.6e12 + n * 1e6);
  }
}
// Two classes of one name at two places: rows are told apart by location only.
const twins = [(() => { class Twin { a = 1; } return Twin; })(), (() => { class Twin { b = 2; } return Twin; })()];

function makeHeap() {
  const heap = {};
  heap.customers = Array.from({ length: times(1500) }, (_, i) => new Customer(i));
  heap.orders = heap.customers.flatMap((c, i) => {
    const order = new Order(c, i);
    c.orders.push(order);
    return [order];
  });
  heap.byName = new Map(heap.customers.map(c => [c.name, c]));
  heap.byObject = new Map(heap.customers.slice(0, times(300)).map(c => [c, { note: c.name.toUpperCase() }]));
  // Values that only the pair of table and key holds; some values are keys of a further table.
  heap.notes = new WeakMap();
  heap.chained = new WeakMap();
  for (const c of heap.customers.slice(0, times(400))) {
    const note = { text: 'note of ' + c.name, about: new Point(c.id, c.id) };
    heap.notes.set(c, note);
    heap.chained.set(note, ['far', c.id]);
    heap.notes.set(note, note);
  }
  heap.weakSet = new WeakSet(heap.orders.slice(0, times(100)));
  heap.weakRefs = heap.orders.slice(0, times(100)).map(o => new WeakRef(o));
  heap.registry = new FinalizationRegistry(() => {});
  for (const o of heap.orders.slice(0, times(50))) heap.registry.register(o, { held: o.number }, o);
  heap.closures = heap.customers.slice(0, times(800)).map(c => {
    const captured = { seen: 0 };
    return () => ++captured.seen + c.id;
  });
  heap.bound = heap.customers.slice(0, times(100)).map(c => c.size.bind(c));
  heap.generators = Array.from({ length: times(50) }, (_, i) => {
    const g = (function* counter(from) { for (;;) yield from++; })(i);
    g.next();
    return g;
  });
  heap.promises = Array.from({ length: times(100) }, (_, i) => new Promise(r => { if (i % 2) r({ i }); }));
  heap.twins = Array.from({ length: times(200) }, (_, i) => new twins[i % 2]());

  heap.cons = [];
  for (let i = 0; i < times(400); i++) heap.cons.push('left part of a rope ' + i + ' joined with its right part');
  heap.equal = Array.from({ length: times(400) }, (_, i) => ['the same text again', 'and', i % 3].join(' '));
  const text = crypto.randomBytes(20000).toString('hex');
  heap.slices = Array.from({ length: times(300) }, (_, i) => text.slice(i * 40, i * 40 + 39));
  heap.longText = Buffer.alloc(50000, 'long ').toString('latin1') + times(1);
  // V8 keeps big decoded texts outside its heap.
  heap.external = Array.from({ length: 3 }, (_, i) => Buffer.alloc(1 << 20, 65 + i).toString('latin1'));
  heap.externalWide = Buffer.alloc(1 << 20, 'x\u0142', 'utf16le').toString('utf16le');
  heap.odd = ['\u0142\u00f3d\u017a', '\ud83d\ude00 smile', 'lone \ud800 half', 'tab\tquote"line\nend', '\u0000 nul'];
  heap.oddKeys = Array.from({ length: 4 }, (_, i) => ({ 'with,comma': i, 'with"quote': i, '\u00e9': i, '{brace}': i }));

  heap.buffers = Array.from({ length: times(100) }, (_, i) => Buffer.alloc(100 + i * 10, i));
  heap.views = Array.from({ length: times(50) }, (_, i) => new Float64Array(new ArrayBuffer(808), 8, i % 100 + 1));
  heap.sharedView = new Int32Array(new SharedArrayBuffer(4096));
  heap.symbols = Array.from({ length: times(200) }, (_, i) => Symbol(i % 2 ? 'symbol ' + i : undefined));
  heap.symbolKeys = heap.symbols.map((s, i) => ({ [s]: i }));
  heap.bigints = Array.from({ length: times(200) }, (_, i) => 3n ** BigInt(100 + i));
  heap.dates = Array.from({ length: times(100) }, (_, i) => new Date(i));
  heap.regexps = Array.from({ length: times(50) }, (_, i) => new RegExp('^item' + i + '[a-z]+$', 'i'));
  heap.errors = Array.from({ length: times(20) }, (_, i) => new Error('error ' + i));
  heap.sparse = Object.assign([], { 5: 'five', 100000: { far: true } });
  heap.numbers = Array.from({ length: times(2000) }, (_, i) => i / 3);
  heap.mixed = Array.from({ length: times(500) }, (_, i) => [i, i / 2, 'm' + (i % 7), null, undefined, true][i % 6]);
  heap.dictionary = Object.fromEntries(Array.from({ length: times(2000) }, (_, i) => ['key' + i, { value: i }]));
  delete heap.dictionary.key0;
  heap.plain = Array.from({ length: times(2000) }, (_, i) => i % 3 ? { a: i, b: { c: i } } : { b: null, a: -i });
  heap.wide = Array.from({ length: 5 }, (_, i) =>
    Object.fromEntries(Array.from({ length: 40 }, (_, k) => ['property_number_' + k, i * k])));
  heap.nullProto = Array.from({ length: times(50) }, (_, i) => Object.assign(Object.create(null), { i }));
  heap.frozen = Object.freeze({ self: null, list: Object.freeze([1, 2, 3]) });
  heap.proxies = Array.from({ length: times(20) }, (_, i) => new Proxy({ i }, { get: () => i }));
  let list = null;
  for (let i = 0; i < times(3000); i++) list = { next: list, value: 'v' + (i % 20) };
  heap.list = list;
  // Rings: equal ones, and objects in one cycle with each other.
  heap.rings = Array.from({ length: times(300) }, (_, i) => {
    const a = { kind: 'ring', n: i % 2 }, b = { back: a };
    a.forth = b;
    return a;
  });
  return heap;
}

const session = new Session();
session.connect();

if (mode === 'alloc') {
  await session.post('HeapProfiler.enable');
  await session.post('HeapProfiler.startTrackingHeapObjects', { trackAllocations: true });
  // Samples are written between turns of the event loop: some objects before, some after.
  globalThis.early = Array.from({ length: times(500) }, (_, i) => new Point(i, i));
  await new Promise(r => setTimeout(r, 200));
}
globalThis.heap = makeHeap();

if (mode === 'plain') {
  v8.writeHeapSnapshot(out);
} else {
  const fd = fs.openSync(out, 'w');
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ params }) => fs.writeSync(fd, params.chunk));
  if (mode === 'alloc') {
    await new Promise(r => setTimeout(r, 200));
    await session.post('HeapProfiler.stopTrackingHeapObjects', { reportProgress: false });
  } else {
    await session.post('HeapProfiler.takeHeapSnapshot', { captureNumericValue: true, exposeInternals: mode === 'internals' });
  }
  fs.closeSync(fd);
}
