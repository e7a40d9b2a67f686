'use strict';
const { renderMail } = require('./ejs-cache/mailer.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
const campaign = { id: 7, header: '<h1>' + text(80) + '</h1>', body: text(2500) };
let sent = 0;
for (let i = 0; i < 1800; i++) sent += renderMail(campaign, { id: i, name: text(12), city: goods.get('sku-' + i).title }).length;
setInterval(() => goods.size + sent, 8000);
require('./lib/heapdump.cjs').whenIdle();
