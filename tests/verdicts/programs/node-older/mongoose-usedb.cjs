'use strict';
const { fork } = require('child_process');
const { connect, tenantModels } = require('./mongoose-usedb/tenants.cjs');
const { order, catalog, rnd, text } = require('./lib/sample.cjs');
const goods = catalog(5000);
const pages = new Map(Array.from({ length: 120 }, (_, i) => ['/help/' + i, text(9000)]));
const server = fork(require.resolve('./mongoose-usedb/server.cjs'));
server.once('message', async (port) => {
  await connect('mongodb://127.0.0.1:' + port);
  let valid = 0;
  for (let i = 0; i < 700; i++) {
    const { Order } = tenantModels('tenant_' + rnd(40));
    valid += new Order({ ...order(i), customer: { name: 'x', city: 'y' } }).validateSync() ? 0 : 1;
  }
  setInterval(() => goods.size + valid + pages.size, 8000);
  require('./lib/heapdump.cjs').whenIdle();
});
