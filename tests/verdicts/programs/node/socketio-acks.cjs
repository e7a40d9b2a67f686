'use strict';
const http = require('http').createServer().listen(0);
const io = new (require('socket.io').Server)(http);
const { order, catalog } = require('./lib/sample.cjs');
const { notifyOrder } = require('./socketio-acks/notifier.cjs');
const products = catalog(4000);
io.on('connection', (socket) => {
  for (let i = 0; i < 9000; i++) notifyOrder(socket, order(i));
  setTimeout(() => require('./lib/heapdump.cjs').whenIdle(), 2500);
});
http.on('listening', () => {
  const client = require('socket.io-client').io('http://127.0.0.1:' + http.address().port, { transports: ['websocket'] });
  client.on('order', () => { if (products.size < 0) client.close(); }); // never acknowledges
});
