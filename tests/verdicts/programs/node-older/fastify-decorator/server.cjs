'use strict';
const fastify = require('fastify');
const { auditTrail } = require('./auditTrail.cjs');
exports.buildServer = function buildServer(goods, terms) {
  const app = fastify();
  auditTrail(app);
  app.get('/terms/:country', async (request) => terms[request.params.country]);
  app.post('/orders', async (request) => {
    request.note('priced', { lines: request.body.lines.map((l) => ({ sku: l.sku, price: goods.get(l.sku)?.price ?? 0 })) });
    request.note('stored', { id: request.body.id });
    return { ok: true };
  });
  return app;
};
