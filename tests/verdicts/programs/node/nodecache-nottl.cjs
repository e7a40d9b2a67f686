'use strict';
const { locate } = require('./nodecache-nottl/geo.cjs');
const { catalog, rnd } = require('./lib/sample.cjs');
const offers = catalog(6000);
for (let i = 0; i < 25000; i++) locate([10 + rnd(200), rnd(255), rnd(255), rnd(255)].join('.'));
setInterval(() => offers.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
