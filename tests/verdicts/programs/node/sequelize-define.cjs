'use strict';
const { archiveModel } = require('./sequelize-define/archive.cjs');
const goods = require('./lib/sample.cjs').catalog(5000);
let fields = 0;
for (let i = 0; i < 400; i++) fields += Object.keys(archiveModel('t' + i, i % 12).rawAttributes).length;
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
