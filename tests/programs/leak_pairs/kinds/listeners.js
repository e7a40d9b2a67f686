import { EventEmitter } from "node:events";
import { MANY, Session } from "../session.js";

class Bus extends EventEmitter {}

const bus = new Bus();

function follow(session) {
  bus.on("price", function onPrice(price) {
    session.views[0] = price;
  });
}

export function leak() {
  bus.setMaxListeners(0);
  for (let user = 0; user < MANY; user++) follow(new Session(user));
}
