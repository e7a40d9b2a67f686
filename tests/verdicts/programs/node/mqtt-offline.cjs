'use strict';
const { report } = require('./mqtt-offline/telemetry.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 12000; i++) report('d' + i % 90, { at: i, temp: i % 40, raw: text(300) });
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
