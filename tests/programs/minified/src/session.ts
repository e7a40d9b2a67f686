// Sessions of a shop; "class Fake {" in a text must not confuse anybody.
export class SessionRecord {
  private items: string[] = [];
  public note = `class Wrong { ${1 + 1} }`;
  constructor(public readonly id: number, readonly owner: string) {
    this.items.push(`item ${id}`);
  }
  size(): number {
    return this.items.length;
  }
}

export class AuditedSession extends SessionRecord {
  audit: number[] = [1, 2, 3];
}

export class CustomSession extends SessionRecord {
  extra: object;
  constructor(id: number) {
    super(id, "custom");
    this.extra = { deep: { inner: id } };
  }
}
