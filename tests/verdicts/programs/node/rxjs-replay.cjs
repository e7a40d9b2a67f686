'use strict';
const feed = require('./rxjs-replay/feed.cjs');
const { text, catalog, rnd } = require('./lib/sample.cjs');
const goods = catalog(6000);
feed.latest().subscribe(() => {});
for (let i = 0; i < 40000; i++) feed.publish({ symbol: 'S' + rnd(400), bid: i + 0.5, ask: i + 0.75, venue: text(24) });
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
