'use strict';
const grantsByUser = new Map();
exports.grantsOf = function grantsOf(user) {
  let g = grantsByUser.get(user);
  if (!g) { g = new Set(user.roles.flatMap((r) => ['read:' + r, 'write:' + r + ':' + user.id])); grantsByUser.set(user, g); }
  return g;
};
