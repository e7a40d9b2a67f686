
  // What the pages of comparisons and of trends have in common: rows with keys and a measure.
  const isBytes = (table) => table.measures[0].endsWith("bytes");
  const plain = (table, value) => (value === null || value === undefined ? "" : isBytes(table) ? (value < 0 ? "-" : "") + size(Math.abs(value)) : count(value));
  const signed = (table, value) => (value === null ? "" : (value > 0 ? "+" : "") + plain(table, value));
  const measureName = (measure) => measure.replaceAll("_", " ").replace(/ bytes$/, "");
  // A key of a row by its name.
  const keyOf = (table, row, key) => { const at = table.keys.indexOf(key); return at < 0 ? "" : text(row.texts[at]); };
  const SUBJECTS = ["message", "text", "class", "owner", "function", "type"];
  const subjectKey = (table) => SUBJECTS.find((key) => table.keys.includes(key));
  const subject = (table, row) => keyOf(table, row, subjectKey(table));
  const tables = ["classes", "chains", "owners", "findings", "duplicates", "types", "functions", "lifetimes"];
  for (const table of tables) if (data[table]) data[table].rows.forEach((row, at) => { row.rank = at; });

