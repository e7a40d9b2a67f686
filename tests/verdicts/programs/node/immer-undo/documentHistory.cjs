'use strict';
const { produce } = require('immer');
class DocumentHistory {
  constructor(doc) { this.present = doc; this.undoStack = []; }
  edit(recipe) { this.undoStack.push(this.present); this.present = produce(this.present, recipe); }
  undo() { if (this.undoStack.length) this.present = this.undoStack.pop(); }
}
module.exports = { DocumentHistory };
