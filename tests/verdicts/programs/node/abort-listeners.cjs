'use strict';
const { runJob, stopAll } = require('./abort-listeners/jobs.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
process.once('SIGTERM', stopAll);
(async () => {
  for (let i = 0; i < 2500; i++) await runJob({ id: i, state: 'new', rows: [order(i), order(i + 1), order(i + 2)] });
  setInterval(() => goods.size, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
