'use strict';
const memoize = require('memoizee');
const { text } = require('../lib/sample.cjs');
function buildQuote(customer, sku, minute) {
  return { customer, sku, minute, terms: text(300), steps: [1, 2, 3].map((q) => ({ from: q * 10, price: q * 1.25 })) };
}
exports.quoteFor = memoize(buildQuote, { primitive: true, length: 3 });
