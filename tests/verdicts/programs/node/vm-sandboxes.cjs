'use strict';
const runner = require('./vm-sandboxes/rules.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 60; i++) runner.run('shop' + i % 3, 'basket.lines.filter(function (l) { return l.qty > 2; }).length', order(i));
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
