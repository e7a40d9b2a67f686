'use strict';
const lunr = require('lunr');
const { text } = require('./lib/sample.cjs');
const articles = Array.from({ length: 700 }, (_, i) => ({ id: String(i), title: text(40), body: text(600) }));
// The search of the help pages: built once at start.
const searchIndex = lunr(function () { this.ref('id'); this.field('title'); this.field('body'); articles.forEach((a) => this.add(a)); });
const server = require('http').createServer((req, res) => res.end(JSON.stringify(searchIndex.search(req.url.slice(1)).slice(0, 5).map((r) => articles[r.ref].title))));
server.listen(0, () => { searchIndex.search('amber'); require('./lib/heapdump.cjs').whenIdle(); });
