'use strict';
class Exporter {
  constructor(stopping) { this.stopping = stopping; this.done = 0; }
  // Ends early when the client goes away or the service is stopped.
  async exportOrder(order, clientGone) {
    const signal = AbortSignal.any([this.stopping.signal, clientGone]);
    const csv = order.lines.map((line) => [order.id, line.sku, line.qty, line.note].join(';'));
    signal.addEventListener('abort', () => { csv.length = 0; order.exported = false; });
    await new Promise(setImmediate);
    this.done++;
    return csv.join('\n').length;
  }
}
exports.Exporter = Exporter;
