'use strict';
const { logFor } = require('./winston-transports/requestLog.cjs');
const { catalog, rnd } = require('./lib/sample.cjs');
const stock = catalog(5000);
for (let i = 0; i < 1500; i++) { const log = logFor({ path: '/p/' + i }); if (!stock.has('sku-' + rnd(7000)) && i % 100 === 0) log.error('not in stock'); }
setInterval(() => stock.size, 9000);
require('./lib/heapdump.cjs').whenIdle();
