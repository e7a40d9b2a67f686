'use strict';
const { quoteFor } = require('./memoizee-args/quotes.cjs');
const { catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
let t = 0;
for (let i = 0; i < 14000; i++) t += quoteFor('c' + i % 900, 'sku-' + i % 5000, 28400000 + i).steps.length;
setInterval(() => goods.size + t, 8000);
require('./lib/heapdump.cjs').whenIdle();
