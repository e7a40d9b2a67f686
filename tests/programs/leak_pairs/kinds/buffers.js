import { MANY, Session } from "../session.js";

class Upload {
  constructor(session) {
    this.session = session;
    this.body = Buffer.alloc(300, 1);
  }
}

class Uploads {
  open = new Set();
}

const uploads = new Uploads();

export function leak() {
  for (let user = 0; user < MANY; user++) uploads.open.add(new Upload(new Session(user)));
}
