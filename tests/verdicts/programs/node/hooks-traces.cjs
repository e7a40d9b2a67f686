'use strict';
const { begin } = require('./hooks-traces/tracing.cjs');
const { text, order, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
let left = 3500;
function serve(i) {
  setImmediate(async () => {
    begin({ path: '/api/orders/' + i, cookie: text(700), body: order(i) });
    await null; await new Promise((r) => setImmediate(r)); await null;
    if (--left === 0) require('./lib/heapdump.cjs').whenIdle(); else serve(i + 1);
  });
}
serve(0);
setInterval(() => goods.size, 8000);
