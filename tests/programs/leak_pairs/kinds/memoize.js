import { MANY, Session } from "../session.js";

function memoize(compute) {
  const remembered = new Map();
  return (argument) => {
    if (!remembered.has(argument)) remembered.set(argument, compute(argument));
    return remembered.get(argument);
  };
}

const sessionOf = memoize((user) => new Session(user));

export function leak() {
  for (let user = 0; user < MANY; user++) sessionOf(user);
}
