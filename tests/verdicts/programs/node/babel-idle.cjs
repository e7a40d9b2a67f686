'use strict';
const babel = require('@babel/core');
const server = require('http').createServer((req, res) => res.end('ready'));
for (let i = 0; i < 30; i++) babel.transformSync('export const f' + i + ' = (a) => a?.b ?? ' + i, { babelrc: false, configFile: false });
server.listen(0, () => require('./lib/heapdump.cjs').whenIdle());
