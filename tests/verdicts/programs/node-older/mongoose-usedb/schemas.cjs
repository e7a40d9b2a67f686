'use strict';
const { Schema } = require('mongoose');
const options = { autoIndex: false, autoCreate: false };
exports.customerSchema = new Schema({ name: { type: String, required: true }, street: String, city: String, mails: [String], createdAt: Date }, options);
exports.orderSchema = new Schema({ id: { type: String, required: true }, customer: { name: String, street: String, city: String },
  lines: [new Schema({ sku: String, qty: { type: Number, min: 1 }, note: String }, { _id: false })], placedAt: Date, state: { type: String, enum: ['open', 'paid', 'sent'] } }, { ...options, id: false });
