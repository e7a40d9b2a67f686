// A program that works on a large structure, as compilers do: syntax trees of many classes, symbols and types that refer
// to each other, one program object that holds all. No leak: node compiler.js OUT.heapsnapshot
"use strict";
const v8 = require("node:v8");

class SyntaxNode { constructor(parent, pos) { this.parent = parent; this.pos = pos; this.flags = 0; } }
class Identifier extends SyntaxNode { constructor(p, pos, text) { super(p, pos); this.text = text; } }
class Literal extends SyntaxNode { constructor(p, pos, value) { super(p, pos); this.value = value; } }
class Call extends SyntaxNode { constructor(p, pos) { super(p, pos); this.callee = null; this.args = []; } }
class Binary extends SyntaxNode { constructor(p, pos) { super(p, pos); this.left = null; this.right = null; } }
class Return extends SyntaxNode { constructor(p, pos) { super(p, pos); this.value = null; } }
class Block extends SyntaxNode { constructor(p, pos) { super(p, pos); this.statements = []; this.locals = new Map(); } }
class FunctionNode extends SyntaxNode { constructor(p, pos) { super(p, pos); this.params = []; this.body = null; } }
class SourceFile extends SyntaxNode { constructor(name) { super(null, 0); this.name = name; this.statements = []; } }
class Sym { constructor(name, declaration) { this.name = name; this.declaration = declaration; this.type = null; } }
class Type { constructor(id) { this.id = id; this.members = []; this.users = []; } }

let position = 0;
function expression(parent, depth) {
  position += 1;
  if (depth === 0) return position % 2 ? new Identifier(parent, position, "v" + (position % 50)) : new Literal(parent, position, position);
  const node = position % 3 ? new Binary(parent, position) : new Call(parent, position);
  if (node instanceof Binary) { node.left = expression(node, depth - 1); node.right = expression(node, depth - 1); }
  else { node.callee = expression(node, 0); node.args = [expression(node, depth - 1), expression(node, depth - 1)]; }
  return node;
}

function fileOf(name, functions) {
  const file = new SourceFile(name);
  for (let at = 0; at < functions; at += 1) {
    const node = new FunctionNode(file, position);
    node.params = [new Identifier(node, position, "a"), new Identifier(node, position, "b")];
    node.body = new Block(node, position);
    for (let line = 0; line < 4; line += 1) {
      const statement = new Return(node.body, position);
      statement.value = expression(statement, 3);
      node.body.statements.push(statement);
      node.body.locals.set("l" + line, new Sym("l" + line, statement));
    }
    node.symbol = new Sym(name + "#" + at, node);
    file.statements.push(node);
  }
  return file;
}

class Program {
  constructor() { this.files = new Map(); this.checker = { types: [] }; }
  add(file) { this.files.set(file.name, file); return file; }
  check() {
    for (const file of this.files.values()) {
      file.statements.forEach((node, at) => {
        // Types refer to what they came from, and to each other.
        const type = new Type(at);
        type.members = [node.symbol, ...node.body.locals.values()];
        node.symbol.type = type;
        const before = file.statements[at - 1];
        if (before) { before.symbol.type.users.push(type); type.users.push(before.symbol.type); }
        if (at % 100 === 0) this.checker.types.push(type);
      });
    }
  }
}

const program = new Program();
// The library is much larger than any file of the user's.
program.add(fileOf("lib.d.ts", 2_000));
for (let at = 0; at < 30; at += 1) program.add(fileOf("file" + at + ".ts", 40));
program.check();
global.program = program;
v8.writeHeapSnapshot(process.argv[2]);
