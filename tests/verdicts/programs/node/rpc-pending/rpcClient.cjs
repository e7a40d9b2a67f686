'use strict';
class RpcClient {
  constructor(transport) { this.transport = transport; this.pendingCalls = new Map(); this.seq = 0; transport.onreply = (m) => this.settle(m); }
  call(method, params) {
    const id = ++this.seq;
    return new Promise((resolve, reject) => { this.pendingCalls.set(id, { resolve, reject, method, params }); this.transport.send({ id, method, params }); });
  }
  settle(m) { const p = this.pendingCalls.get(m.id); if (p) { this.pendingCalls.delete(m.id); p.resolve(m.result); } }
}
module.exports = { RpcClient };
