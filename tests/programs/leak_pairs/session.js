// What all these programs keep too long.
export class Session {
  constructor(user) {
    this.user = user;
    this.views = Array.from({ length: 24 }, (_, at) => at + user + 0.5);
    this.token = "token of " + user;
  }
}

export const MANY = 4000;
