'use strict';
const { reloadSettings } = require('./module-children/settings.cjs');
const goods = require('./lib/sample.cjs').catalog(5000);
let on = 0;
for (let i = 0; i < 900; i++) on += reloadSettings().feature_2.on;
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
