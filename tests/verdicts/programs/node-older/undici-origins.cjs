'use strict';
const { fork } = require('child_process');
const { deliver } = require('./undici-origins/webhooks.cjs');
const { order, catalog, text } = require('./lib/sample.cjs');
const goods = catalog(3500);
const letters = Array.from({ length: 60 }, (_, i) => ({ name: 'mail-' + i, body: text(9000) }));
const receiver = fork(require.resolve('./undici-origins/receiver.cjs'));
receiver.once('message', async (port) => {
  let next = 0;
  const worker = async () => {
    while (next < 900) { const i = next++; await deliver('http://shop-' + i + '.hooks.test:' + port + '/order', order(i)).catch(() => 0); }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  setInterval(() => goods.size + letters.length, 8000);
  require('./lib/heapdump.cjs').whenIdle(1500);
});
