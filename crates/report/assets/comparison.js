
  // The page of a comparison: what the base had, what the target has, and what became of each subject.
  const { base, target } = data.comparison;
  const many = base.of > 1 || target.of > 1;
  // Of a side of a row: the mean of its runs, which is that of the run where there is one.
  const mean = (side) => (side === null ? null : side[1]);
  // "1.0 MiB → 3.0 MiB (+2.0 MiB)", of a run where a side has several.
  const fromTo = (table, row, more = "") => plain(table, mean(row.base)) + " → " + plain(table, mean(row.target)) + (many ? " a run" : "") + (!row.delta ? "" : " (" + signed(table, row.delta) + (many ? " on all" : "") + more + ")");
  const percent = (value) => (value === null ? "" : (value > 0 ? "+" : "") + (Math.abs(value) >= 1e6 ? value.toExponential(1) : value.toFixed(1)) + " %");
  const statusOf = (row) => text(row.status);
  const STATUS = { new_path: "new path", appeared: "new", appeared_on: "new on some", grew: "grew", grew_on_some: "grew on some", shrank: "shrank", shrank_on_some: "shrank on some", vanished: "gone", within_noise: "within noise", same: "same" };
  const NEW = ["appeared", "appeared_on", "new_path"];
  const MORE = ["grew", "grew_on_some"];
  const LESS = ["shrank", "shrank_on_some"];
  // What may be duplicates, and may not be.
  const isPossible = (row) => keyOf(data.findings, row, "rule").startsWith("possible-duplicates");
  const byFew = (row) => text(row.evidence) === "separation";
  const percentOf = (row) => (row.percent !== null ? percent(row.percent) : row.delta > 0 ? "new" : "");
  const badge = (row) => el("span", { class: "badge " + statusOf(row) }, STATUS[statusOf(row)] || statusOf(row));

  // ---- head, tiles, sides ----
  const compareHead = () => {
    const side = (what, one) => [what, [name(text(one.selection)), " (" + plural(one.of, "run", "runs") + ")"]];
    const facts = [side("Base", base), side("Target", target), ["Format", name(text(data.comparison.format))]];
    byId("head").append(el("h1", null, name(text(base.selection)), " → ", name(text(target.selection))), el("dl", { class: "facts" }, facts.map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value)))));
    for (const remark of data.comparison.remarks) byId("head").append(el("p", { class: "soft", role: "note" }, "Note: ", el("bdi", null, text(remark))));
    byId("foot").append("heaplake " + text(data.comparison.version) + ". Sizes are bytes of the heap in units of 1024." + (mapped() ? " Chart: Apache ECharts (Apache License 2.0)." : ""));
  };

  const compareTiles = () => {
    const change = (before, after) => (before > 0 ? " (" + percent(100 * (after - before) / before) + ")" : "");
    const median = base.of > 1 || target.of > 1 ? "medians of the runs" : null;
    const of = (table, ...wanted) => data[table].rows.filter((row) => wanted.includes(statusOf(row)) && !(table === "findings" && isPossible(row))).length;
    const list = [
      ["Heap", [size(base.bytes), " → ", size(target.bytes), change(base.bytes, target.bytes)], median],
      ["Objects", [count(base.objects), " → ", count(target.objects), change(base.objects, target.objects)], median],
      data.findings ? ["New findings", count(of("findings", ...NEW)), count(of("findings", "vanished")) + " gone, " + count(of("findings", ...MORE)) + " grown"] : null,
      data.classes ? ["Classes that grew", count(of("classes", ...MORE, ...NEW)), count(of("classes", "appeared", "appeared_on")) + " new, " + count(of("classes", "new_path")) + " through new paths"] : null,
      data.classes ? ["Classes that shrank", count(of("classes", ...LESS, "vanished")), count(of("classes", "vanished")) + " gone, " + count(of("classes", "within_noise")) + " within noise"] : null,
    ];
    summary(list);
  };

  const sides = () => {
    const titles = ["Release", "Run", "Host", "Heap", "Objects"];
    const line = (run) => el("tr", null, el("td", { class: "text" }, name(text(run.release))), el("td", { class: "text" }, el("span", { title: text(run.path) }, name(text(run.snapshot)))), el("td", null, run.host === null ? "" : name(text(run.host))), el("td", null, size(run.bytes)), el("td", null, count(run.objects)));
    const one = (what, side) => el("div", null, el("h3", null, what, ": ", name(text(side.selection))),
      el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, titles.map((title, at) => el("th", { scope: "col", class: at < 2 ? "text" : null }, title)))), el("tbody", null, side.runs.map(line)))),
      side.of > side.runs.length ? soft("and " + plural(side.of - side.runs.length, "more run", "more runs")) : null);
    section("sides", "Runs", el("div", { class: "sides" }, one("Base", base), one("Target", target)));
  };

  // ---- findings ----
  const comparedFindings = () => {
    const table = data.findings;
    if (!table) {
      section("findings", "Findings", missing("This comparison has no table of findings."));
      return;
    }
    const card = (row) => el("article", { class: keyOf(table, row, "severity") },
      el("h3", null, el("span", { class: "badge" }, keyOf(table, row, "severity")), el("bdi", null, keyOf(table, row, "message"))),
      el("p", { class: "soft" }, keyOf(table, row, "rule"), " · " + fromTo(table, row) + " ", badge(row)), onHosts(row.changed));
    // What may be duplicates comes last, whatever became of it.
    const group = (title, open, wanted, possible = false) => {
      const rows = table.rows.filter((row) => wanted.includes(statusOf(row)) && isPossible(row) === possible);
      if (rows.length === 0) return null;
      return el("details", { class: "group", open }, el("summary", null, title + ", " + count(rows.length)), el("div", { class: "cards" }, rows.map(card)));
    };
    const groups = [group("New", true, NEW), group("Grown", true, MORE), group("Gone", false, ["vanished"]), group("Smaller", false, LESS), group("As before", false, ["same", "within_noise"]), group("Possible duplicates", false, Object.keys(STATUS), true)];
    const words = table.rows.length === 0 ? "Neither side has findings." : table.of > table.rows.length ? "The first " + count(table.rows.length) + " of " + count(table.of) + "." : "What the rules found on either side.";
    section("findings", "Findings", soft(words), groups);
  };

  // ---- chains ----
  const comparedChains = () => {
    const table = data.chains;
    if (!table) {
      section("chains", "Chains", missing("This comparison has no table of chains."));
      return;
    }
    const byClass = new Map();
    for (const row of table.rows) {
      const key = idOf(row, row.class);
      if (!byClass.has(key)) byClass.set(key, []);
      byClass.get(key).push(row);
    }
    const KIND = { reference: "Shortest chains from a root", dominator: "Held by: chains of dominators" };
    const step = (row) => el("div", { class: "leafline" }, badge(row), name(subject(table, row)),
      el("span", { class: "soft" }, " — " + fromTo(table, row) + (row.share === undefined || row.share === null ? "" : ", " + (100 * row.share).toFixed(0) + " % of the growth")),
      onHosts(row.changed), row.share ? bar(row.share, 1) : null);
    const grown = (rows) => Math.max(0, ...["reference", "dominator"].map((kind) => rows.filter((row) => keyOf(table, row, "kind") === kind && row.delta > 0).reduce((sum, row) => sum + row.delta, 0)));
    const one = ([key, rows]) => {
      const fresh = rows.filter((row) => NEW.includes(statusOf(row))).length;
      const made = el("details", { id: "chains-" + key }, el("summary", null, name(keyOf(table, rows[0], "class")), el("span", { class: "soft" }, " — " + plural(rows.length, "chain", "chains") + (grown(rows) > 0 ? ", grew by " + plain(table, grown(rows)) : "") + (fresh > 0 ? ", " + count(fresh) + " new" : ""))));
      made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return;
        for (const kind of new Set(rows.map((row) => keyOf(table, row, "kind")))) made.append(soft(KIND[kind] || kind), ...rows.filter((row) => keyOf(table, row, "kind") === kind).map(step));
      });
      return made;
    };
    const list = [...byClass].sort((a, b) => grown(b[1]) - grown(a[1]));
    // Classes all of whose growth is that of a link further up.
    const follows = ([, rows]) => rows.some(isPart) && rows.filter((row) => row.delta > 0).every(isPart);
    const others = list.filter(follows);
    const words = table.of > table.rows.length ? " The first " + count(table.rows.length) + " of " + count(table.of) + " chains are in this page." : "";
    section("chains", "Through which holders it grew", soft("By class: the chains of classes from the roots, what each leads to in base and target, and its part of the growth." + words), list.filter((of) => !follows(of)).map(one),
      others.length > 0 ? el("details", { class: "group parts" }, el("summary", null, plural(others.length, "class that is", "classes that are") + " a part of this growth"), others.map(one)) : null);
  };

  // ---- tables ----
  const grids = {};
  const changes = (id, title, words, more = []) => {
    const table = data[id];
    if (!table) return;
    const parts = partsOf(table);
    const most = Math.max(0, ...table.rows.map((row) => Math.abs(row.delta || 0)));
    const what = { title: capital(subjectKey(table)), text: true, value: (row) => subject(table, row).toLowerCase(), cell: (row) => [name(subject(table, row)), formatOf(row), more.map((one) => one(row)), detail(table, row), folded(table, parts.get(idOf(row)), (part) => [signed(table, part.delta), " ", badge(part)], (part) => NEW.includes(statusOf(part)))] };
    const side = (title, key) => ({ title, value: (row) => (row[key] === null ? null : row[key][0]), cell: (row) => (row[key] === null ? "" : [plain(table, row[key][0]), many ? ofRun(table, row[key]) : null]) });
    const sure = (row) => (row.interval === null ? null : "95 %: " + row.interval.map((end) => signed(table, Math.round(end))).join(" to "));
    const change = { title: "Change", value: (row) => row.delta, cell: (row) => [el("span", { title: sure(row) }, signed(table, row.delta)), many && row.mean !== null ? el("div", { class: "soft" }, "a run " + signed(table, row.mean)) : null, row.delta === null ? null : el("span", { class: "bar " + (row.delta > 0 ? "more" : "less"), style: "width:" + (most > 0 ? Math.max(1, 100 * Math.abs(row.delta) / most).toFixed(1) : 0) + "%" })] };
    const percentColumn = { title: "%", value: (row) => (row.percent === null && row.delta > 0 ? Infinity : row.percent), cell: percentOf };
    const status = { title: "Status", value: statusOf, cell: (row) => [badge(row), onHosts(row.changed), byFew(row) ? el("div", { class: "soft" }, "too few runs for a test") : null] };
    const columns = [{ title: "#", value: (row) => row.rank, cell: (row) => String(row.rank + 1) }, what, side("Base", "base"), side("Target", "target"), change, percentColumn, status, ...statistics(table), ...otherMeasures(table)];
    grids[id] = grid(id, columns, table.rows, { by: 0, down: false, of: table.of, placeholder: "Search " + title.toLowerCase(), isPart, id: (row) => id + "-" + idOf(row), words: (row) => table.keys.map((key) => keyOf(table, row, key)).join(" ") + " " + text(row.signature) + " " + statusOf(row) });
    const rest = table.rest.rows > 0 ? soft("The other " + plural(table.rest.rows, "row", "rows") + " together" + (many ? ", on a run" : "") + ": " + plain(table, table.rest.base) + " → " + plain(table, table.rest.target) + ".") : null;
    section(id, title, soft(capital(measureName(table.measures[0])) + ": " + words, explained(table)), grids[id].view, rest);
  };

  // What a run of a side has: mean and median, which are often the same.
  const ofRun = (table, [, average, median]) => el("div", { class: "soft" }, average === median ? "a run " + plain(table, median) : ["mean " + plain(table, average), el("br"), "median " + plain(table, median)]);
  // The other keys of a row, its signature, and through which chain a class grew.
  const detail = (table, row) => {
    const what = subjectKey(table);
    const others = table.keys.filter((key) => key !== what && keyOf(table, row, key) !== "" && keyOf(table, row, key) !== subject(table, row));
    const through = row.through ? el("div", { class: "soft" }, row.through.new ? "through a new path: " : "through ", name(text(row.through.text)), row.through.bytes === null ? null : " (" + signed(table, row.through.bytes) + (many ? " a run)" : ")")) : null;
    return [others.length > 0 && what !== "class" ? el("div", { class: "soft" }, others.map((key, i) => [i > 0 ? " · " : null, name(keyOf(table, row, key))])) : null, text(row.signature) === subject(table, row) ? null : el("div", { class: "soft" }, name(text(row.signature))), through];
  };
  const statistics = (table) => {
    if (!many) return [];
    const q = { title: "q", value: (row) => row.q, cell: (row) => (row.q === null ? "" : row.q < 0.001 ? row.q.toExponential(1) : row.q.toFixed(3)) };
    const runs = { title: "Runs with it", value: (row) => row.runs[1], cell: (row) => row.runs[0] + "/" + row.runs[2] + " → " + row.runs[1] + "/" + row.runs[3] };
    return table.rows.some((row) => row.q !== null) ? [q, runs] : [runs];
  };
  // Columns of the measures after the first, if a row has changed in it.
  const otherMeasures = (table) => table.measures.slice(1).map((measure, at) => {
    const show = (value) => (value === null ? "" : (value > 0 ? "+" : value < 0 ? "-" : "") + (measure.endsWith("bytes") ? size(Math.abs(value)) : count(Math.abs(value))));
    return table.rows.some((row) => row.others[at]) ? { title: "± " + measureName(measure), value: (row) => row.others[at], cell: (row) => show(row.others[at]) } : null;
  }).filter(Boolean);
  // How to read the numbers where a side has several runs.
  const explained = (table) => {
    if (!many) return null;
    const pairs = Math.max(0, ...table.rows.map((row) => row.pairs || 0));
    const few = table.rows.some(byFew) ? " There are too few runs for a test: a row has changed where all runs of one side lie above all of the other." : "";
    return " All runs of a side together; below, a run of it: mean and median, one number if they are the same. The change is what the runs of the target have more than as many runs of the base would." + (pairs > 0 ? " " + plural(pairs, "host is", "hosts are") + " compared with themselves." : "") + few;
  };

  const made = () => {
    const list = data.comparison.tables.map(([file, rows, bytes]) => el("li", null, el("code", null, text(file)), " — " + plural(rows, "row", "rows") + ", " + size(bytes)));
    section("made", "How it was made", soft("Tables of the comparison, in ", name(text(data.comparison.place)), ":"), el("ul", null, list));
  };
