'use strict';
const { renderPage } = require('./hbs-partials/layout.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const menu = catalog(4000);
let bytes = 0;
for (let i = 0; i < 600; i++) bytes += renderPage({ id: i }, Array.from({ length: 12 }, (_, k) => '<li>' + text(80) + '{{k' + k + '}}</li>').join('')).length;
setInterval(() => menu.size + bytes, 8000);
require('./lib/heapdump.cjs').whenIdle();
