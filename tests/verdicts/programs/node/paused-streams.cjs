'use strict';
const hub = require('./paused-streams/exportHub.cjs');
const goods = require('./lib/sample.cjs').catalog(5000);
for (let i = 0; i < 900; i++) { const s = hub.start(i); if (i % 6 === 0) s.resume(); /* the others went away before they read */ }
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
