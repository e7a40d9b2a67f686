'use strict';
const reporter = require('./error-history/reporter.cjs');
const { order, text, catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
function price(o) { for (const l of o.lines) if (!goods.has(l.sku + 'x')) throw new RangeError('unknown product ' + l.sku + ' in ' + o.id); }
for (let i = 0; i < 4000; i++) { const o = order(i); try { price(o); } catch (e) { reporter.capture(e, { path: '/price', body: o, agent: text(90) }); } }
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
