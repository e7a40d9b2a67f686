'use strict';
const store = require('./buffer-subarray/signatures.cjs');
const { catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
for (let i = 0; i < 1500; i++) store.remember('upload-' + i + '.png', Buffer.alloc(14000, i & 255));
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
