'use strict';
const express = require('express');
const http = require('http');
const { mountTenant } = require('./router-grows/tenantRoutes.cjs');
const goods = require('./lib/sample.cjs').catalog(5000);
const app = express();
app.get('/login/:tenant', (req, res) => { mountTenant(app, req.params.tenant); res.json({ ok: goods.size }); });
const server = app.listen(0, async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  for (let i = 0; i < 3000; i++) await new Promise((done) => http.get({ port: server.address().port, path: '/login/t' + i % 300, agent }, (res) => { res.resume(); res.on('end', done); }));
  agent.destroy();
  require('./lib/heapdump.cjs').whenIdle();
});
