'use strict';
const mongoose = require('mongoose');
const { orderSchema, customerSchema } = require('./schemas.cjs');
let cluster;
exports.connect = async (url) => { cluster = await mongoose.createConnection(url, { maxPoolSize: 5, serverSelectionTimeoutMS: 4000 }).asPromise(); };
// Called for each request: the models of the tenant's own database.
exports.tenantModels = function tenantModels(database) {
  const db = cluster.useDb(database);
  return { Order: db.model('Order', orderSchema), Customer: db.model('Customer', customerSchema) };
};
