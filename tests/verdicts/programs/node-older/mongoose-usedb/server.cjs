'use strict';
// As much of a MongoDB server as a driver needs to call itself connected.
const { BSON } = require('mongodb');
const hello = () => BSON.serialize({ helloOk: true, ismaster: true, isWritablePrimary: true, maxBsonObjectSize: 16777216, maxMessageSizeBytes: 48000000, maxWriteBatchSize: 100000, localTime: new Date(), minWireVersion: 0, maxWireVersion: 21, readOnly: false, ok: 1 });
function answer(message) {
  const id = message.readInt32LE(4), old = message.readInt32LE(12) === 2004, doc = hello();
  const body = old ? Buffer.concat([Buffer.alloc(16), Buffer.from([1, 0, 0, 0]), doc]) : Buffer.concat([Buffer.alloc(5), doc]);
  if (old) body.writeInt32LE(8, 0);
  const head = Buffer.alloc(16);
  head.writeInt32LE(16 + body.length, 0); head.writeInt32LE(id + 1, 4); head.writeInt32LE(id, 8); head.writeInt32LE(old ? 1 : 2013, 12);
  return Buffer.concat([head, body]);
}
const server = require('net').createServer((socket) => {
  let rest = Buffer.alloc(0);
  socket.on('error', () => 0).on('data', (d) => {
    rest = Buffer.concat([rest, d]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) { const size = rest.readInt32LE(0); socket.write(answer(rest.subarray(0, size))); rest = rest.subarray(size); }
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
