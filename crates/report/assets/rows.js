
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
  // By what a row is known: where runs have several formats, two of them may have a class of one name.
  const idOf = (row, print = row.fingerprint) => text(print) + (row.format === undefined ? "" : "-" + text(row.format));
  const formatOf = (row) => (row.format === undefined ? null : el("span", { class: "soft" }, " ", name(text(row.format))));
  const tables = ["classes", "chains", "owners", "findings", "duplicates", "types", "functions", "lifetimes"];
  for (const table of tables) if (data[table]) data[table].rows.forEach((row, at) => { row.rank = at; });

  // A leak grows each link of its chain. Such a row is a part of the growth of the link that stands first.
  const isPart = (row) => row.part_of !== undefined;
  const partsOf = (table) => {
    const parts = new Map();
    for (const row of table.rows.filter(isPart)) parts.set(idOf(row, row.part_of), [...(parts.get(idOf(row, row.part_of)) || []), row]);
    return parts;
  };
  // What is folded into a row: a name and what it grew, for each part. New parts say what leaks, so these are open.
  const folded = (table, parts, amount, isNew = () => false) => (parts === undefined ? null : el("details", { class: "parts", open: parts.some(isNew) }, el("summary", null, plural(parts.length, "part", "parts") + " of this growth"), parts.map((row) => el("div", null, name(subject(table, row)), el("span", { class: "soft" }, " ", amount(row))))));
  // "on 3 of 40 hosts: web1, web7, …"; hosts are named unless it is all of them.
  const onHosts = (hosts) => {
    if (!hosts || hosts.of < 2) return null;
    const named = hosts.on < hosts.of && hosts.names !== null ? [": ", name(text(hosts.names)), text(hosts.names).split(", ").length < hosts.on ? ", …" : null] : null;
    return el("div", { class: "soft hosts" }, "on " + count(hosts.on) + " of " + (hosts.hosts ? plural(hosts.of, "host", "hosts") : plural(hosts.of, "run", "runs")), named);
  };
