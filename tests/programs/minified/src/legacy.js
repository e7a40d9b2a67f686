// A constructor function, as before classes.
export function LegacyCart(total) {
  this.total = total;
  this.lines = [total, total / 2];
}
LegacyCart.prototype.sum = function () { return this.total; };

export const PriceBook = class {
  constructor(seed) { this.rows = new Array(10).fill(seed); }
};

export var OldStyle = function (name) {
  this.name = name;
  this.when = {};
};
