'use strict';
const { ReplaySubject, scan } = require('rxjs');
const quotes$ = new ReplaySubject();
exports.publish = (q) => quotes$.next(q);
exports.latest = () => quotes$.pipe(scan((m, q) => m.set(q.symbol, q.bid), new Map()));
