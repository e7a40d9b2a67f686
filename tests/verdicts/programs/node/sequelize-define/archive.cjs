'use strict';
const { Sequelize, DataTypes } = require('sequelize');
const sequelize = new Sequelize('shop', 'u', 'p', { dialect: 'postgres', logging: false, dialectModule: { types: {}, Client: class {} } });
exports.archiveModel = function archiveModel(tenant, month) {
  return sequelize.define('archive_' + tenant + '_' + month, {
    number: DataTypes.STRING(20), amount: DataTypes.DECIMAL(12, 2), paid: DataTypes.BOOLEAN, note: DataTypes.TEXT, placedAt: DataTypes.DATE,
  });
};
