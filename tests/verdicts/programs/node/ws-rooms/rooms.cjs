'use strict';
class RoomDirectory {
  constructor() { this.members = new Map(); }
  join(room, socket, hello) {
    let list = this.members.get(room);
    if (!list) this.members.set(room, list = []);
    socket.profile = hello;
    list.push(socket);
  }
  broadcast(room, line) { for (const s of this.members.get(room) || []) if (s.readyState === 1) s.send(line); }
}
module.exports = new RoomDirectory();
