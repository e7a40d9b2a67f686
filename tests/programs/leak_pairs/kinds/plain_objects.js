import { MANY, Session } from "../session.js";

class Cart {
  lines = [];
}

const cart = new Cart();

export function leak() {
  for (let user = 0; user < MANY; user++) cart.lines.push({ sku: "sku " + user, quantity: user % 9, buyer: new Session(user) });
}
