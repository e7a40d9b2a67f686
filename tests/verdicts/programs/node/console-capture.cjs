'use strict';
const capture = require('./console-capture/capture.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 60000; i++) capture.write('job ' + i + ' ' + text(90));
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
