'use strict';
const fastify = require('fastify');
const { loadPolicies } = require('./yaml-policies/policies.cjs');
const { text, catalog, rnd, WORDS } = require('./lib/sample.cjs');
(async () => {
  const { default: QuickLRU } = await import('quick-lru');
  const policies = loadPolicies();
  const decisions = new QuickLRU({ maxSize: 500 });
  const goods = catalog(3000);
  const app = fastify();
  for (const word of WORDS) app.get('/' + word + '/:id', { schema: { querystring: { type: 'object', properties: { page: { type: 'integer' }, size: { type: 'integer' } } } } }, async (request) => {
    const key = word + request.params.id;
    if (!decisions.has(key)) decisions.set(key, { allowed: policies.allows(word, request.params.id), why: text(200), at: Date.now() });
    return decisions.get(key);
  });
  await app.ready();
  for (let i = 0; i < 2500; i++) await app.inject('/' + WORDS[rnd(26)] + '/' + rnd(900) + '?page=1');
  await app.listen({ port: 0, host: '127.0.0.1' });
  setInterval(() => goods.size, 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
