// What the rules for collections of V8 heaps look for, all in one program: node sins.js OUT.heapsnapshot
"use strict";
const v8 = require("node:v8");

// A map, a set and an array for a single object each.
class Order {
  constructor(id) {
    this.labels = new Map([["id" + id, { id }]]);
    this.tags = new Set(["tag" + id]);
    this.notes = [];
    this.notes.push({ id });
  }
}

// An array that grew by one far beyond its end, and a dictionary that lost nearly all of its names.
class Board {
  constructor(id) {
    this.fields = new Array(2000);
    this.fields[1500] = { piece: id };
  }
}
class Registry {
  constructor(id) {
    this.names = {};
    for (let i = 0; i < 60; i += 1) this.names["name" + i] = { id };
    for (let i = 2; i < 60; i += 1) delete this.names["name" + i];
  }
}

// What is known of each request, in a weak map whose keys are never let go of.
class Request {
  constructor(id) { this.id = id; }
}
class Details {
  constructor(id) { this.rows = Array.from({ length: 40 }, (_, row) => ({ row, id })); }
}

// Entries that each hold the key of the next.
class Step {
  constructor(next) { this.next = next; }
}
class StepInfo {
  constructor(key) { this.key = key; }
}

const sins = { orders: [], boards: [], registries: [], requests: [], details: new WeakMap(), steps: new WeakMap() };
for (let i = 0; i < 20_000; i += 1) sins.orders.push(new Order(i));
for (let i = 0; i < 300; i += 1) sins.boards.push(new Board(i));
for (let i = 0; i < 5_000; i += 1) sins.registries.push(new Registry(i));
for (let i = 0; i < 2_000; i += 1) {
  const request = new Request(i);
  sins.requests.push(request);
  sins.details.set(request, new Details(i));
}
let key = new Step(null);
for (let i = 0; i < 3_000; i += 1) {
  const above = new Step(null);
  sins.steps.set(above, new StepInfo(key));
  key = above;
}
sins.first = key;
global.sins = sins;
v8.writeHeapSnapshot(process.argv[2]);
