'use strict';
const crypto = require('crypto');
const { firstSeen } = require('./sliced-ids/dedupe.cjs');
const { text, catalog } = require('./lib/sample.cjs');
const goods = catalog(5000);
for (let i = 0; i < 4000; i++) firstSeen(Buffer.from(text(3500) + ' trace=' + crypto.randomBytes(16).toString('hex') + ' end').toString('latin1'));
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
