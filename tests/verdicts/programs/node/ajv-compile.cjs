'use strict';
const { checkForm } = require('./ajv-compile/validate.cjs');
const goods = require('./lib/sample.cjs').catalog(5000);
let ok = 0;
for (let i = 0; i < 700; i++) ok += checkForm(['name', 'mail', 'street', 'city', 'f' + i], { name: 'a', mail: 'b' }) ? 1 : 0;
setInterval(() => goods.size, 8000);
require('./lib/heapdump.cjs').whenIdle();
