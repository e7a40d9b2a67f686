'use strict';
process.env.NODE_NO_WARNINGS = '1';
const { buildServer } = require('./fastify-decorator/server.cjs');
const { order, catalog, text } = require('./lib/sample.cjs');
(async () => {
  const goods = catalog(5000);
  const terms = Array.from({ length: 40 }, (_, i) => ({ country: i, text: text(12000) }));
  const app = buildServer(goods, terms);
  await app.ready();
  for (let i = 0; i < 3200; i++) await app.inject({ method: 'POST', url: '/orders', payload: order(i) });
  await app.listen({ port: 0, host: '127.0.0.1' });
  require('./lib/heapdump.cjs').whenIdle();
})();
