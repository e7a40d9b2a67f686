'use strict';
const { grantsOf } = require('./object-keys/permissions.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(6000);
const load = (i) => ({ id: i % 300, name: text(20), roles: ['editor', 'r' + i % 9], profile: { bio: text(250) } });
let n = 0;
for (let i = 0; i < 12000; i++) n += grantsOf(load(i)).size;
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
