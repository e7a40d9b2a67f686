'use strict';
const { CarrierClient } = require('./carrierClient.cjs');
// Asks the carrier for a price.
exports.quoteShipment = async function quoteShipment(port, order) {
  const client = new CarrierClient({ port, account: 'acc-' + order.customer.city });
  return client.post('/quote', { to: order.customer, lines: order.lines });
};
