'use strict';
exports.reloadSettings = function reloadSettings() {
  const file = require.resolve('./flags.json');
  delete require.cache[file];
  return require('./flags.json');
};
