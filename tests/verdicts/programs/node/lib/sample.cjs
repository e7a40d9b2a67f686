'use strict';
// Sample data for the services of this folder: nothing here keeps what it hands out.
const WORDS = 'amber birch copper delta ember fjord granite harbor indigo juniper kestrel lumen maple nickel opal pewter quartz russet sable timber umber violet willow xenon yarrow zephyr'.split(' ');
let state = 12345;
function rnd(n) { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return (state >>> 8) % n; }
function text(bytes) {
  const b = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  while (at < bytes) { at += b.latin1Write(WORDS[rnd(WORDS.length)] + rnd(1000) + ' ', at); if (bytes - at < 12) { b.fill(46, at); break; } }
  return b.latin1Slice(0, bytes);
}
function catalog(n) {
  const m = new Map();
  for (let i = 0; i < n; i++) m.set('sku-' + i, { sku: 'sku-' + i, title: text(24), price: rnd(90000) / 100, tags: [WORDS[rnd(26)], WORDS[rnd(26)]] });
  return m;
}
function order(i) {
  return { id: 'o-' + i, customer: { name: text(18), street: text(30), city: WORDS[rnd(26)] },
    lines: Array.from({ length: 4 }, (_, k) => ({ sku: 'sku-' + rnd(9000), qty: 1 + rnd(5), note: text(20) })), placedAt: new Date(1.7e12 + i * 1000) };
}
module.exports = { text, catalog, order, rnd, WORDS };
