'use strict';
const { waitForPayment, paymentBus } = require('./once-replies/invoices.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
for (let i = 0; i < 9000; i++) { waitForPayment(order(i)); if (i % 10 === 0) paymentBus.emit('paid:o-' + i); }
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
