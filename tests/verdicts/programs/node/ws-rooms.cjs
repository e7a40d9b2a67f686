'use strict';
const { WebSocketServer, WebSocket } = require('ws');
const { text, catalog } = require('./lib/sample.cjs');
const emoji = catalog(3000);
const rooms = require('./ws-rooms/rooms.cjs');
const server = new WebSocketServer({ port: 0, perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('message', (raw) => {
    const hello = JSON.parse(raw);
    rooms.join(hello.room, socket, hello);
    socket.send('{"ok":1}');
  });
});
server.on('listening', async () => {
  const url = 'ws://127.0.0.1:' + server.address().port;
  for (let i = 0; i < 700; i++) await new Promise((done) => {
    const c = new WebSocket(url, { perMessageDeflate: false });
    c.on('open', () => c.send(JSON.stringify({ room: 'r' + i % 12, nick: 'n' + i, avatar: text(9000) })));
    c.on('message', () => c.close());
    c.on('close', done);
  });
  require('./lib/heapdump.cjs').whenIdle();
  setInterval(() => rooms.broadcast('r1', 'tick' + emoji.size), 5000);
});
