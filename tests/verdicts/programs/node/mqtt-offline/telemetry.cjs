'use strict';
const mqtt = require('mqtt');
const broker = mqtt.connect('mqtt://127.0.0.1:1', { reconnectPeriod: 60000 });
broker.on('error', () => {});
exports.report = function report(device, reading) { broker.publish('dev/' + device, JSON.stringify(reading), { qos: 0 }); };
