'use strict';
const { observable, autorun } = require('mobx');
const exchangeRates = observable({ usd: 1.08, gbp: 0.86 });
exports.exchangeRates = exchangeRates;
class BasketView {
  constructor(order) {
    this.order = order; this.total = 0;
    autorun(() => { this.total = order.lines.reduce((s, l) => s + l.qty, 0) * exchangeRates.usd; });
  }
}
exports.BasketView = BasketView;
