// Makes a small heap snapshot whose names meet the corner cases of class naming and of WeakMap edges.
//
//   node odd-names.mjs OUT.heapsnapshot
import v8 from 'node:v8';

const out = process.argv[2];
if (!out) {
  console.error('usage: odd-names.mjs OUT.heapsnapshot');
  process.exit(2);
}

// V8 names an object after its tag.
const tagged = (tag, extra) => Object.assign({ get [Symbol.toStringTag]() { return tag; } }, extra);
const named = tag => {
  const proto = { [Symbol.toStringTag]: tag };
  return Array.from({ length: 3 }, (_, i) => Object.assign(Object.create(proto), { i }));
};

globalThis.odd = {
  getter: tagged('never called'),
  // Names that DevTools also gives to other types of nodes.
  functionLike: Array.from({ length: 3 }, () => Object.create(Function.prototype)),
  regExpLike: Array.from({ length: 3 }, () => Object.create(RegExp.prototype)),
  system: named('(system)'),
  strings: named('(string)'),
  // Looks like the name of an interface that exists.
  interfaceName: named('{alpha, beta}'),
  interfaces: Array.from({ length: 5 }, (_, i) => ({ alpha: i, beta: -i })),
  subset: Array.from({ length: 3 }, (_, i) => ({ alpha: i, beta: i, gamma: { i } })),
  single: { alpha: 1, beta: 2, omega: 3 },
  reordered: Array.from({ length: 2 }, (_, i) => ({ beta: i, alpha: -i })),
  quoted: Array.from({ length: 4 }, (_, i) => ({ 'a, b': i, 'say "x"': i, "it's": i, '{c}': i, 'back\\slash': i })),
  long: Array.from({ length: 4 }, (_, i) => ({ ['k'.repeat(130)]: i, second: i })),
  longTail: Array.from({ length: 4 }, (_, i) => ({ a: i, ['m'.repeat(115)]: i, ['n'.repeat(3)]: i })),
  astral: Array.from({ length: 4 }, (_, i) => ({ ['\u{1f600}'.repeat(40)]: i, ['\u{1f601}'.repeat(30)]: i, z: i })),
  utf16Order: Array.from({ length: 4 }, (_, i) => ({ '\uffee': i, '\u{1f600}': i })),
  ownProto: Array.from({ length: 3 }, (_, i) => JSON.parse(`{"__proto__": {"i": ${i}}, "own": 1}`)),
  element: named('<span class="x y">'),
  elementShort: named('<span>'),
  detached: named('Detached <p id="a b">'),
  detachedShort: named('Detached <p>'),
  newline: named('two\nlines'),
  separator: named('u2028\u2028here'),
  parentheses: named('odd (name @12) -> value (x @13)'),
  surrogate: named('half \ud800'),
  tab: named('a\tb'),
  empty: named(''),
};
// The pattern of the edges' names does not match across line ends; these values have two retainers then.
globalThis.table = new WeakMap();
for (const key of ['newline', 'separator', 'parentheses', 'surrogate', 'tab', 'empty', 'element']) {
  for (const object of odd[key]) table.set(object, { valueOf_: key, payload: [key, object.i] });
}
v8.writeHeapSnapshot(out);
