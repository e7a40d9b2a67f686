'use strict';
const knex = require('knex')({ client: 'pg' });
const { text, order, catalog } = require('./lib/sample.cjs');
const { auditQueries } = require('./knex-listeners/audit.cjs');
const prices = catalog(5000);
knex.setMaxListeners && knex.setMaxListeners(0);
function handle(i) {
  const request = { id: i, path: '/orders/' + i, headers: { cookie: text(900), agent: text(110) }, body: order(i), queries: [] };
  auditQueries(knex, request);
  return knex('orders').where({ id: i, currency: prices.get('sku-1').tags[0] }).toString();
}
for (let i = 0; i < 5000; i++) handle(i);
setInterval(() => knex('orders').count().toString(), 9000);
require('./lib/heapdump.cjs').whenIdle();
