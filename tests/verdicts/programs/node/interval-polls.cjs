'use strict';
const { watchShipment } = require('./interval-polls/shipment.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
for (let i = 0; i < 6000; i++) { const s = order(i); watchShipment(s, () => {}); s.delivered = true; }
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
