'use strict';
const { exportReport } = require('./pool-acquired/exporter.cjs');
const { catalog } = require('./lib/sample.cjs');
const index = catalog(6000);
(async () => {
  for (let i = 0; i < 2500; i++) { try { await exportReport('select * from ' + (i % 50 ? 'missing_' + i : 'orders')); } catch { /* shown to the user */ } }
  setInterval(() => index.get('sku-1'), 5000);
  require('./lib/heapdump.cjs').whenIdle();
})();
