'use strict';
const { InMemoryCache, gql } = require('@apollo/client/core');
// One cache for every visitor of the rendering server.
const apolloCache = new InMemoryCache();
const ORDER = gql`query Order($id: ID!) { order(id: $id) { id city note lines { id sku qty } } }`;
exports.rememberOrder = function rememberOrder(id, order) {
  apolloCache.writeQuery({ query: ORDER, variables: { id }, data: { order } });
};
