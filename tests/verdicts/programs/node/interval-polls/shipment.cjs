'use strict';
exports.watchShipment = function watchShipment(shipment, report) {
  setInterval(function pollCarrier() {
    if (shipment.delivered) report(shipment);
  }, 60000);
};
