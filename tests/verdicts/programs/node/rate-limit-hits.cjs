'use strict';
const app = require('express')();
const http = require('http');
const { text, catalog, rnd } = require('./lib/sample.cjs');
const goods = catalog(4000);
app.use(require('./rate-limit-hits/rateLimit.cjs').rateLimit);
app.use((req, res) => res.end('ok' + goods.size));
const server = app.listen(0, async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
  for (let i = 0; i < 6000; i++) await new Promise((done) => http.get({ port: server.address().port, path: '/p/' + rnd(100) + '?q=' + i, agent, headers: { 'x-forwarded-for': '10.' + rnd(250) + '.' + rnd(250) + '.' + rnd(250), 'user-agent': text(400) } }, (res) => { res.resume(); res.on('end', done); }));
  agent.destroy();
  require('./lib/heapdump.cjs').whenIdle();
});
