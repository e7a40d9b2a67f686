'use strict';
const i18next = require('i18next');
class PageFormatter {
  constructor(page) {
    this.page = page;
    this.onLanguage = (lng) => { this.money = new Map([['lng', lng]]); };
    i18next.on('languageChanged', this.onLanguage);
  }
  title() { return i18next.t('title', { name: this.page.name }); }
}
module.exports = { PageFormatter };
