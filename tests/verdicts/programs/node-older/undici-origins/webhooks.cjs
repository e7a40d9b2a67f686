'use strict';
const { Agent, request } = require('undici');
// Every shop names an address of its own; they all end at the same gateway.
const lookup = (host, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4));
const outbound = new Agent({ connect: { lookup, timeout: 3000 }, keepAliveTimeout: 500, keepAliveMaxTimeout: 800 });
exports.deliver = async function deliver(url, order) {
  const reply = await request(url, { dispatcher: outbound, method: 'POST', body: JSON.stringify(order), headers: { 'content-type': 'application/json' } });
  await reply.body.dump();
  return reply.statusCode;
};
