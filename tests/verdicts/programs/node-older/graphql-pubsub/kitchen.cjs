'use strict';
const { PubSub } = require('graphql-subscriptions');
const pubsub = new PubSub();
// What a kitchen's tablet reads: one order after the other.
class KitchenFeed {
  constructor(restaurant) { this.iterator = pubsub.asyncIterator(['ORDER_PLACED.' + restaurant]); }
  nextOrder() { return this.iterator.next(); }
}
exports.KitchenFeed = KitchenFeed;
exports.placeOrder = (restaurant, order) => pubsub.publish('ORDER_PLACED.' + restaurant, { orderPlaced: order });
