'use strict';
const { observe } = require('./prom-labels/metrics.cjs');
const { catalog, rnd } = require('./lib/sample.cjs');
const goods = catalog(6000);
for (let i = 0; i < 9000; i++) observe({ method: 'GET', url: '/users/' + (100000 + i) + '/orders?page=' + rnd(9) }, 200, rnd(100) / 100);
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
