'use strict';
const { tracer } = require('./otel-memory/telemetry.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 7000; i++) { const s = tracer.startSpan('GET /cart'); s.setAttribute('http.target', '/cart/' + i); s.setAttribute('user.agent', text(80)); s.addEvent('db', { rows: i }); s.end(); }
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
