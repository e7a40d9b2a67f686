'use strict';
process.env.NODE_ENV = 'production';
const { rememberOrder } = require('./apollo-cache/client.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 4000; i++) rememberOrder('o' + i, { __typename: 'Order', id: 'o' + i, city: text(14), note: text(200), lines: [0, 1, 2].map((k) => ({ __typename: 'Line', id: i + '-' + k, sku: 's' + k, qty: k })) });
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
