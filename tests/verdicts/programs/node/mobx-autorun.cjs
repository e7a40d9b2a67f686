'use strict';
const { BasketView, exchangeRates } = require('./mobx-autorun/basket.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
let sum = 0;
for (let i = 0; i < 6000; i++) sum += new BasketView(order(i)).total;
setInterval(() => exchangeRates.gbp + sum, 9000);
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
