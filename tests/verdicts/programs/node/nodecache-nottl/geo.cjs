'use strict';
const NodeCache = require('node-cache');
const { text, rnd } = require('../lib/sample.cjs');
const geoCache = new NodeCache({ useClones: false, checkperiod: 0 });
exports.locate = function locate(ip) {
  let place = geoCache.get(ip);
  if (!place) { place = { ip, city: text(16), asn: { number: rnd(65000), owner: text(40) }, point: [rnd(180) + 0.5, rnd(90) + 0.25] }; geoCache.set(ip, place); }
  return place;
};
