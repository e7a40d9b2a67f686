'use strict';
const { orderLoader } = require('./dataloader-global/loaders.cjs');
const { catalog } = require('./lib/sample.cjs');
const goods = catalog(7000);
(async () => {
  for (let i = 0; i < 9000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => orderLoader.load(i + k)));
  setInterval(() => goods.size, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
