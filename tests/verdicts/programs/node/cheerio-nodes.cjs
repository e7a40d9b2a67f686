'use strict';
const feed = require('./cheerio-nodes/headlines.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 60; i++) feed.addPage('<html><body><h1>News ' + i + '</h1>' + Array.from({ length: 250 }, (_, k) => '<p id="p' + k + '">' + text(70) + '</p>').join('') + '</body></html>');
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
