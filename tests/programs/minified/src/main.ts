import { writeHeapSnapshot } from "node:v8";
import { AuditedSession, CustomSession, SessionRecord } from "./session";
import { LegacyCart, OldStyle, PriceBook } from "./legacy.js";

const kept: unknown[] = [];
for (let i = 0; i < 40; i++) {
  kept.push(new SessionRecord(i, "a"), new AuditedSession(i, "b"), new CustomSession(i));
  kept.push(new LegacyCart(i), new PriceBook(i), new OldStyle(`n${i}`));
}
(globalThis as any).kept = kept;
writeHeapSnapshot(process.argv[2]);
