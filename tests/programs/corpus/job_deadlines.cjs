// A worker that gives each job an hour: node job_deadlines.cjs leaking|healthy OUT.heapsnapshot
//
// leaking: the timer of a job that is done stays until the hour is over. healthy: it is cleared.
"use strict";
const v8 = require("node:v8");

const [mode, out] = process.argv.slice(2);

class Job {
  constructor(id) { this.id = id; this.input = Array.from({ length: 40 }, (_, row) => ({ row, id })); }
  async work() { return this.input.length; }
  cancel() { this.input = []; }
}

async function withDeadline(job) {
  const deadline = setTimeout(() => job.cancel(), 3_600_000);
  const result = await job.work();
  if (mode === "healthy") clearTimeout(deadline);
  return result;
}

async function main() {
  for (let id = 0; id < 6000; id += 1) await withDeadline(new Job(id));
  v8.writeHeapSnapshot(out);
  process.exit(0);
}
main();
