'use strict';
const { RpcClient } = require('./rpc-pending/rpcClient.cjs');
const { order, catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
const transport = { send(m) { if (m.id % 5 === 0) setImmediate(() => this.onreply({ id: m.id, result: 1 })); } };
const stockService = new RpcClient(transport);
async function reserve(o) { const r = await stockService.call('reserve', o); return r + o.lines.length; }
for (let i = 0; i < 8000; i++) reserve(order(i));
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
