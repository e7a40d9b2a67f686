'use strict';
const DataLoader = require('dataloader');
const { order } = require('../lib/sample.cjs');
exports.orderLoader = new DataLoader(async (ids) => ids.map((id) => order(id)));
