'use strict';
const server = require('http').createServer((req, res) => { req.resume(); req.on('end', () => res.writeHead(204, { connection: 'close' }).end()); });
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
