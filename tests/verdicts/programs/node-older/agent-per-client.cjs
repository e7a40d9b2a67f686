'use strict';
const { fork } = require('child_process');
const { quoteShipment } = require('./agent-per-client/shipping.cjs');
const { order, catalog, text } = require('./lib/sample.cjs');
const goods = catalog(4000);
const zones = new Map(Array.from({ length: 900 }, (_, i) => ['zone-' + i, { post: 10000 + i, carrier: text(12), remarks: text(300) }]));
const carrier = fork(require.resolve('./agent-per-client/carrier.cjs'));
carrier.once('message', async (port) => {
  let next = 0;
  const worker = async () => { while (next < 600) { const i = next++; await quoteShipment(port, order(i)); } };
  await Promise.all(Array.from({ length: 12 }, worker));
  setInterval(() => goods.size + zones.size, 8000);
  require('./lib/heapdump.cjs').whenIdle(800);
});
