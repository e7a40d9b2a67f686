'use strict';
const { rotateBatch } = require('./closure-chain/batcher.cjs');
const { catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
for (let i = 0; i < 500; i++) rotateBatch(i);
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
