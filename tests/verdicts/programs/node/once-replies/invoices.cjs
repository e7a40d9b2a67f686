'use strict';
const { EventEmitter } = require('events');
const paymentBus = new EventEmitter();
exports.paymentBus = paymentBus;
exports.waitForPayment = function waitForPayment(invoice) {
  paymentBus.once('paid:' + invoice.id, () => { invoice.paid = true; });
};
