'use strict';
const vm = require('vm');
class RuleRunner {
  constructor() { this.sandboxes = new Map(); }
  run(shop, source, basket) {
    const key = shop + ':' + source.length + ':' + basket.id;
    let box = this.sandboxes.get(key);
    if (!box) { box = vm.createContext({ basket, log: [] }); this.sandboxes.set(key, box); }
    return vm.runInContext(source, box);
  }
}
module.exports = new RuleRunner();
