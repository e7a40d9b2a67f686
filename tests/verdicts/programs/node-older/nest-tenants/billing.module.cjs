'use strict';
const { Injectable, Inject, Module, Scope } = require('@nestjs/common');
const { REQUEST } = require('@nestjs/core');
const { text } = require('../lib/sample.cjs');
class TenantSettings {
  constructor(request) {
    this.tenant = request.tenant;
    this.rates = Array.from({ length: 24 }, (_, i) => ({ code: 'V' + i, percent: i / 2, label: text(40) }));
    this.footer = text(900);
  }
}
Reflect.decorate([Injectable({ scope: Scope.REQUEST, durable: true })], TenantSettings);
Inject(REQUEST)(TenantSettings, undefined, 0);
Reflect.defineMetadata('design:paramtypes', [Object], TenantSettings);
class InvoiceService {
  constructor(settings) { this.settings = settings; }
  create(order) { return order.lines.reduce((sum, line) => sum + line.qty * this.settings.rates.length, 0); }
}
Reflect.decorate([Injectable({ scope: Scope.REQUEST, durable: true })], InvoiceService);
Inject(TenantSettings)(InvoiceService, undefined, 0);
Reflect.defineMetadata('design:paramtypes', [TenantSettings], InvoiceService);
class BillingModule {}
Reflect.decorate([Module({ providers: [TenantSettings, InvoiceService], exports: [InvoiceService] })], BillingModule);
module.exports = { BillingModule, InvoiceService, TenantSettings };
