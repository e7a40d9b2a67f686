'use strict';
const server = require('http').createServer((req, res) => { req.resume(); req.on('end', () => res.end('{"price":1290,"currency":"EUR"}')); });
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
