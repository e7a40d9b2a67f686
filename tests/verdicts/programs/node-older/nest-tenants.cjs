'use strict';
require('reflect-metadata');
const { NestFactory, ContextIdFactory, ModuleRef } = require('@nestjs/core');
const { BillingModule, InvoiceService } = require('./nest-tenants/billing.module.cjs');
const { ByTenantStrategy } = require('./nest-tenants/tenant.strategy.cjs');
const { order, catalog, text, rnd } = require('./lib/sample.cjs');
const goods = catalog(5000);
(async () => {
  ContextIdFactory.apply(new ByTenantStrategy());
  const app = await NestFactory.createApplicationContext(BillingModule, { logger: false });
  let sum = 0;
  for (let i = 0; i < 1500; i++) {
    const request = { method: 'POST', url: '/invoices', headers: { host: 'billing.test', 'x-tenant': 'tenant-' + rnd(1500) + '.' + text(4), 'user-agent': text(60) }, body: order(i) };
    const id = ContextIdFactory.getByRequest(request);
    app.get(ModuleRef).registerRequestByContextId(request, id);
    const invoices = await app.get(ModuleRef).resolve(InvoiceService, id, { strict: false });
    sum += invoices.create(request.body);
  }
  setInterval(() => goods.size + sum + (app ? 1 : 0), 8000);
  require('./lib/heapdump.cjs').whenIdle();
})();
