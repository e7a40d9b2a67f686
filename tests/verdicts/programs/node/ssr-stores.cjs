'use strict';
process.env.NODE_ENV = 'production';
const { renderOrder } = require('./ssr-stores/render.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
let bytes = 0;
for (let i = 0; i < 3500; i++) bytes += renderOrder('req-' + i + '-' + (i * 7919 % 1000), order(i)).length;
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
