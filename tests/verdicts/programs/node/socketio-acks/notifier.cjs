'use strict';
// Tells a client about an order and goes on when the client has said that it saw it.
exports.notifyOrder = function notifyOrder(socket, order) {
  socket.emit('order', { id: order.id }, (seen) => { order.seenAt = seen; });
};
