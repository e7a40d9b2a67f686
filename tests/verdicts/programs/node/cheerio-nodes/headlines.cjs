'use strict';
const cheerio = require('cheerio');
class HeadlineFeed {
  constructor() { this.headlines = []; }
  addPage(html) { const $ = cheerio.load(html); this.headlines.push($('h1').get(0)); }
}
module.exports = new HeadlineFeed();
