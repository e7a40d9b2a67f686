// Values that differ (`pair_NAME`) and values that do not (`twin_NAME`), two of each, in one registry, and then a heap
// snapshot: node pairs.cjs OUT.heapsnapshot [num]. With `num`, numbers are captured.
//
// The two of a pair differ in something that a program can tell, so no set of duplicates that is called exact may have
// both. The two of a twin are equal in everything, and what they consist of is in the snapshot if numbers are captured.
'use strict';

const v8 = require('v8');
const [, , out, mode] = process.argv;

const registry = {};
const pair = (name, one, other) => { registry['pair_' + name] = { first: one, second: other }; };
const twin = (name, make) => { registry['twin_' + name] = { first: make(), second: make() }; };
/** Only where the engine has it. */
const perhaps = (test, then) => { if (test) then(); };
/** A text that is no constant, so each call has its own. */
const text = (value) => Buffer.from(value, 'utf16le').toString('utf16le');
const plain = (value) => Buffer.from(value).toString();

const one = { target: 'one' };
const other = { target: 'other' };

// Numbers.
pair('wrapped_number', new Number(7), new Number(8));
pair('wrapped_fraction', new Number(0.25), new Number(0.75));
pair('wrapped_boolean', new Boolean(false), new Boolean(true));
pair('wrapped_bigint', Object(5n), Object(6n));
pair('bigint', { n: 3n ** 50n }, { n: 3n ** 50n + 1n });
pair('zero_and_minus_zero', { n: 0 / 1.5 }, { n: -0 });
pair('not_a_number', { n: NaN }, { n: -Infinity });
pair('smi_in_array', [3, one], [4, one]);
pair('smis', [1, 2, 3, 4], [1, 2, 3, 5]);
pair('doubles', [0.5, 1.5], [0.5, 2.5]);
pair('hole_or_undefined', [one, , one], [one, undefined, one]);
pair('trailing_holes', Object.assign([one], { length: 3 }), Object.assign([one], { length: 4 }));
pair('boolean_element', [one, true], [one, false]);
pair('null_element', [one, null], [one, undefined]);
pair('dates', new Date(2020, 1), new Date(2021, 1));
class Day extends Date {}
pair('derived_dates', new Day(1000), new Day(2000));
pair('dates_in_disguise', Object.setPrototypeOf(new Date(3), Object.prototype),
  Object.setPrototypeOf(new Date(4), Object.prototype));
function Disguise() {}
pair('constructed_as_another', Reflect.construct(Date, [5], Disguise), Reflect.construct(Date, [6], Disguise));

// Containers.
pair('map_with_number_keys', new Map([[1, one]]), new Map([[2, one]]));
pair('map_with_number_values', new Map([[one, 1]]), new Map([[one, 2]]));
pair('map_with_more', new Map([[one, other]]), new Map([[one, other], [1, 2]]));
pair('map_with_booleans', new Map([[one, true]]), new Map([[one, false]]));
pair('set_of_numbers', new Set([10]), new Set([20]));
pair('set_with_more', new Set([one]), new Set([one, 5]));
pair('weak_map', new WeakMap([[one, 1]]), new WeakMap([[other, 1]]));
pair('weak_set', new WeakSet([one]), new WeakSet([other]));
pair('weak_ref', new WeakRef(one), new WeakRef(other));
pair('finalization_registry', new FinalizationRegistry(() => 1), new FinalizationRegistry(() => 2));
const inOrder = (keys) => { const it = Object.create(null); for (const key of keys) it[key] = one; return it; };
pair('dictionary_order', inOrder(['a', 'b', 'c']), inOrder(['c', 'b', 'a']));
const described = (enumerable) => Object.defineProperty(inOrder(['a']), 'b', { value: one, enumerable });
pair('dictionary_attributes', described(true), described(false));
const sparse = (writable) => Object.defineProperty([], 100000, { value: one, writable });
pair('element_attributes', sparse(true), sparse(false));

// Bytes and views of them.
const bytes = new ArrayBuffer(64);
pair('view_offset', new Uint16Array(bytes, 0, 4), new Uint16Array(bytes, 8, 4));
pair('view_length', new Uint8Array(bytes, 0, 4), new Uint8Array(bytes, 0, 8));
pair('data_view', new DataView(bytes, 0, 8), new DataView(bytes, 16, 8));
pair('pooled_buffers', Buffer.from('pooled 1'), Buffer.from('pooled 2'));
pair('bytes', new Uint8Array([1, 2]), new Uint8Array([1, 3]));
pair('buffers', new Uint8Array([1]).buffer, new Uint8Array([2]).buffer);
pair('shared_buffers', new SharedArrayBuffer(8), new SharedArrayBuffer(16));
perhaps(ArrayBuffer.prototype.resize, () => {
  pair('resizable', new ArrayBuffer(8, { maxByteLength: 64 }), new ArrayBuffer(8, { maxByteLength: 128 }));
});
class Octets extends Uint8Array {}
pair('derived_views', new Octets(bytes, 0, 4), new Octets(bytes, 4, 4));

// Things under way.
function* count() { yield 1; yield 2; yield 3; }
const steps = (it, n) => { for (let i = 0; i < n; i++) it.next(); return it; };
pair('generator', steps(count(), 1), steps(count(), 2));
async function* later() { yield 1; yield 2; }
pair('async_generator', later(), steps(later(), 1));
pair('array_iterator', steps([1, 2, 3].values(), 0), steps([1, 2, 3].values(), 1));
const list = [one, other];
pair('array_iterator_kind', list.keys(), list.entries());
pair('string_iterator', 'abc'[Symbol.iterator](), steps('abc'[Symbol.iterator](), 1));
const entries = new Map([[one, 1], [other, 2]]);
pair('map_iterator', entries.values(), steps(entries.values(), 1));
const members = new Set([one, other]);
pair('set_iterator', members.values(), steps(members.values(), 1));
pair('matches', 'aXbX'.matchAll(/X/g), steps('aXbX'.matchAll(/X/g), 1));
perhaps([].values().map, () => {
  const taken = list.values();
  pair('iterator_helper', taken.take(1), taken.take(2));
  pair('iterator_drop', taken.drop(1), taken.drop(2));
});
pair('promise', Promise.resolve(1), Promise.resolve(2));
const failed = Promise.reject(one);
failed.catch(() => 0);
pair('promise_status', Promise.resolve(one), failed);
pair('pending', new Promise(() => 0), Promise.resolve());
const used = /u/g;
used.exec('uuu');
pair('regexp_position', used, /u/g);
pair('regexp_flags', /w/g, /w/y);

// Engine and embedder.
pair('number_format', new Intl.NumberFormat('de'), new Intl.NumberFormat('fr'));
pair('collator', new Intl.Collator('sv'), new Intl.Collator('de'));
pair('date_format', new Intl.DateTimeFormat('de', { month: 'long' }), new Intl.DateTimeFormat('de', { month: 'short' }));
pair('list_format', new Intl.ListFormat('de'), new Intl.ListFormat('de', { type: 'disjunction' }));
pair('locale', new Intl.Locale('de'), new Intl.Locale('fr'));
perhaps(globalThis.Temporal, () => {
  const { Temporal } = globalThis;
  pair('plain_date', Temporal.PlainDate.from('2020-01-01'), Temporal.PlainDate.from('2021-01-01'));
  pair('duration', Temporal.Duration.from('P1D'), Temporal.Duration.from('P2D'));
});
pair('wasm_memory', new WebAssembly.Memory({ initial: 1 }), new WebAssembly.Memory({ initial: 2 }));
pair('wasm_global', new WebAssembly.Global({ value: 'i32' }, 1), new WebAssembly.Global({ value: 'i32' }, 2));
pair('wasm_table', new WebAssembly.Table({ initial: 1, element: 'anyfunc' }),
  new WebAssembly.Table({ initial: 1, element: 'anyfunc', maximum: 5 }));
pair('proxy_target', new Proxy(one, {}), new Proxy(other, {}));
pair('proxy_handler', new Proxy(one, {}), new Proxy(one, { get: () => 1 }));
pair('symbol', Object(Symbol('same')), Object(Symbol('same')));
pair('url', new URL('http://a/'), new URL('http://b/'));
pair('headers', new Headers({ a: '1' }), new Headers({ a: '2' }));
pair('text_decoder', new TextDecoder('utf-8'), new TextDecoder('utf-16le'));
pair('message_port', new MessageChannel().port1, new MessageChannel().port2);
pair('abort', AbortSignal.abort(1), AbortSignal.abort(2));
pair('hash', require('crypto').createHash('md5').update('1'), require('crypto').createHash('md5').update('2'));

// Objects of programs.
class Hidden { #value; constructor(value) { this.#value = value; } get value() { return this.#value; } }
pair('private_fields', new Hidden(1), new Hidden(2));
class Named { constructor(value) { this.value = value; } }
pair('instances', new Named(1), new Named(2));
pair('bound', Named.bind(null, 1), Named.bind(null, 2));
pair('closures', ((x) => () => x)(1), ((x) => () => x)(2));
pair('errors', new Error('first'), new Error('second'));
pair('arguments', (function () { return arguments; })(one, 1), (function () { return arguments; })(one, 2));
pair('sloppy_arguments', Function('x', 'return arguments')(1), Function('x', 'return arguments')(2));
pair('getters', { get a() { return 1; } }, { get a() { return 2; } });
pair('frozen', Object.freeze({ f: 1 }), { f: 1 });
pair('prototypes', Object.create({ p: 1 }), Object.create({ p: 1 }));
pair('nested', { a: [{ b: [one, { c: 1 }] }] }, { a: [{ b: [one, { c: 2 }] }] });
const template = (strings) => strings;
pair('templates', template`t${1}`, template`t${1}u`);
pair('script_objects', require('vm').runInNewContext('[1, {a: 1}]'), require('vm').runInNewContext('[1, {a: 2}]'));

// Texts.
const long = 'long text '.repeat(150);
pair('tail', plain(long + '1'), plain(long + '2'));
pair('length', plain(long), plain(long + long));
pair('wide_tail', text('\u2603'.repeat(1200) + '1'), text('\u2603'.repeat(1200) + '2'));
pair('cut_in_pair', text('\u{1f600} ' + long + '1'), text('\u{1f600} ' + long + '2'));
pair('pairs', text('\u{1f600}'.repeat(600) + '1'), text('\u{1f600}'.repeat(600) + '2'));
pair('lone_surrogates', text('\ud800x'), text('\udbffx'));
pair('look_alike', text('ab\u{1f600}'), text('ab\u{2f600}'));
pair('look_alike_han', text('\u6587'), text('\u{26587}'));
pair('slices', plain(long).slice(3, 900), plain(long).slice(4, 901));
pair('parts', plain('x'.repeat(600)) + plain('y'.repeat(600)), plain('x'.repeat(600)) + plain('y'.repeat(601)));

// What is equal, and seen to be.
twin('text', () => plain('a text of its own'));
twin('latin', () => plain('\u00e4\u00f6\u00fc'));
twin('wide', () => text('\u6587'.repeat(16)));
twin('object', () => ({ name: plain('twin'), next: { name: plain('inner') } }));
twin('numbers', () => ({ small: 17, large: 2 ** 40, fraction: 0.125 }));
twin('array', () => [{ a: plain('x') }, plain('y'), { b: { c: plain('z') } }]);
twin('grown_array', () => { const it = []; for (let i = 0; i < 5; i++) it.push({ i }); return it; });
twin('captured_elements', () => [1, plain('one'), 2, plain('two')]);
twin('instance', () => new Named({ value: plain('v') }));
class Derived extends Named {}
twin('derived', () => new Derived(plain('derived')));
twin('private', () => new Hidden(plain('p')));
twin('full_map', () => { const it = new Map(); for (const key of ['a', 'b', 'c', 'd']) it.set(key, { key }); return it; });
twin('full_set', () => { const it = new Set(); for (const key of ['a', 'b', 'c', 'd']) it.add({ key }); return it; });
twin('json', () => JSON.parse('{"list": [{"a": "b"}, {"a": "c"}], "n": 1.5}'));
twin('parts', () => plain('first part of it, ') + plain('second part of it'));

globalThis.registry = registry;
v8.writeHeapSnapshot(out, mode === 'num' ? { exposeNumericValues: true } : undefined);
process.exit(0);
