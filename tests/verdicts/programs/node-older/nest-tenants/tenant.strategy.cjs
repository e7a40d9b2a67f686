'use strict';
const { ContextIdFactory } = require('@nestjs/core');
// One sub-tree of durable providers for each tenant, as the documentation shows it.
class ByTenantStrategy {
  constructor() { this.subTrees = new Map(); }
  attach(contextId, request) {
    const tenant = request.headers['x-tenant'];
    let subTreeId = this.subTrees.get(tenant);
    if (!subTreeId) { subTreeId = ContextIdFactory.create(); this.subTrees.set(tenant, subTreeId); }
    return { resolve: (info) => (info.isTreeDurable ? subTreeId : contextId), payload: { tenant } };
  }
}
exports.ByTenantStrategy = ByTenantStrategy;
