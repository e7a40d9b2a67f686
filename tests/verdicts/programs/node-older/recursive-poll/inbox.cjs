'use strict';
const { order } = require('../lib/sample.cjs');
class InboxPoller {
  constructor() { this.handled = 0; }
  async fetchPage(cursor) {
    if (cursor >= 3000) await new Promise((later) => setTimeout(later, 30000)); // nothing new at the moment
    else await new Promise(setImmediate);
    return { cursor, messages: Array.from({ length: 4 }, (_, i) => ({ id: cursor + '/' + i, subject: 'order', body: order(cursor * 4 + i) })) };
  }
  async pollFrom(cursor) {
    const page = await this.fetchPage(cursor);
    for (const message of page.messages) if (message.body.lines.length) this.handled++;
    await this.pollFrom(cursor + 1);
    this.lastFinished = page.cursor;
  }
}
exports.InboxPoller = InboxPoller;
