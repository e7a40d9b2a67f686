'use strict';
const ejs = require('ejs');
exports.renderMail = function renderMail(campaign, user) {
  const source = campaign.header + '<p>Dear <%= user.name %></p>' + campaign.body + '<footer><%= user.city %></footer>';
  return ejs.render(source, { user }, { cache: true, filename: 'campaign-' + campaign.id + '-' + user.id });
};
