'use strict';
const http = require('http');
const { text } = require('../lib/sample.cjs');
class CarrierClient {
  constructor(options) {
    this.options = options;
    this.stats = { calls: 0, reused: 0 };
    this.endpoints = Object.fromEntries(['quote', 'label', 'track', 'cancel', 'pickup', 'customs'].map((name) => [name, { path: '/' + name, timeout: 5000, rules: text(700), retries: [100, 400, 1600] }]));
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
    this.agent.on('free', () => { this.stats.reused++; });
  }
  post(path, body) {
    this.stats.calls++;
    return new Promise((resolve, reject) => {
      const req = http.request({ agent: this.agent, host: '127.0.0.1', port: this.options.port, path, method: 'POST', headers: { 'content-type': 'application/json', 'x-account': this.options.account } }, (res) => {
        let s = '';
        res.setEncoding('utf8').on('data', (d) => { s += d; }).on('end', () => resolve(JSON.parse(s)));
      });
      req.on('error', reject);
      req.end(JSON.stringify(body));
    });
  }
}
exports.CarrierClient = CarrierClient;
