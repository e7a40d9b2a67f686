// Statements over all runs.
import { el, name, soft } from "./shared.js";
import { ask } from "./ask.js";
import { go } from "./route.js";
import { coverage, later, section } from "./parts.js";
import { further } from "./lists.js";
import { table } from "./table.js";

const result = async (sql, signal) => {
  const args = { sql, limit: 200 };
  const answer = await ask("query", args, signal);
  const rows = answer.heap_data.rows || [];
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const shown = (value) => (value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const columns = names.map((key) => ({ title: key, text: rows.some((row) => typeof row[key] === "string"), value: (row) => row[key], csv: (row) => shown(row[key]), cell: (row) => name(shown(row[key])) }));
  if (rows.length === 0) return [...coverage(answer), soft("No row.")];
  return [...coverage(answer), table("rows", columns, rows, { placeholder: "Filter what is read", label: "Rows of the statement", file: ["rows"], next: further("query", args, "rows", answer, signal), words: (row) => JSON.stringify(row) }).view];
};

const tables = async (signal) => {
  const answer = await ask("query", { limit: 200 }, signal);
  return el("ul", null, (answer.heap_data.tables || []).map((one) => el("li", null, el("code", null, one.table), ": ", one.row)));
};

export const sql = async ({ values, signal }) => {
  const box = el("textarea", { id: "sql", rows: "5", spellcheck: "false", "aria-label": "Statement" }, values.sql || "SELECT release, snapshot, class, count, retained_bytes FROM classes ORDER BY retained_bytes DESC LIMIT 50");
  const run = () => go("sql", { sql: box.value });
  box.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); } });
  return {
    title: "SQL",
    head: [el("h1", null, "SQL"), soft("A statement over the tables of all runs: SELECT, EXPLAIN, SHOW or DESCRIBE. Ctrl-Enter runs it.")],
    parts: [section("Statement", box, el("p", null, el("button", { type: "button", class: "plain", onclick: run }, "Run"))), values.sql ? section("Rows", later(() => result(values.sql, signal))) : section("Tables", later(() => tables(signal)))],
  };
};
