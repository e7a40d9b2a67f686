
  // The page of a fleet: releases over time, runs with the same culprit, the worst rows, the runs.
  const fleet = data.fleet;
  const when = (time) => (time === null ? "" : new Date(time).toISOString().slice(0, 16).replace("T", " "));
  const linked = (words, link) => (link === null ? name(words) : el("a", { href: text(link) }, name(words)));
  const groupName = (group) => [group.release === null ? null : text(group.release), text(group.labels)].filter(Boolean).join(", ") || text(group.format);
  const several = new Set(data.groups.map((group) => text(group.format))).size > 1;
  const whole = (group) => groupName(group) + (several && groupName(group) !== text(group.format) ? " (" + text(group.format) + ")" : "");

  const fleetHead = () => {
    byId("head").append(el("h1", null, plural(fleet.runs, "run", "runs")), el("dl", { class: "facts" }, [["Groups", [count(data.groups.length), " by ", name(text(fleet.by))]], ["Formats", name([...new Set(data.groups.map((group) => text(group.format)))].join(", "))]].map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value)))));
    for (const remark of fleet.remarks) byId("head").append(el("p", { class: "soft", role: "note" }, "Note: ", el("bdi", null, text(remark))));
    byId("foot").append("heaplake " + text(fleet.version) + ". Sizes are bytes of the heap in units of 1024.");
    const largest = data.runs[0];
    summary([
      ["Runs", count(fleet.runs)],
      fleet.hosts > 0 ? ["Hosts", count(fleet.hosts)] : null,
      ["Same culprit", plural(fleet.clusters, "cluster", "clusters")],
      ["Runs with high findings", count(data.groups.reduce((sum, group) => sum + group.high, 0))],
      largest ? ["Largest heap", size(largest.bytes), text(largest.name)] : null,
    ]);
  };

  // The median and the largest heap of each group, in the order of time where it is known.
  const overTime = () => {
    const rows = data.groups.map((group, at) => ({ ...group, at })).sort((a, b) => (a.captured_at ?? 0) - (b.captured_at ?? 0) || a.at - b.at);
    const [width, height] = [1000, 220];
    const most = Math.max(1, ...rows.map((row) => row.bytes[1]));
    const x = (at) => 4 + (width - 8) * (rows.length > 1 ? at / (rows.length - 1) : 0.5);
    const y = (value) => height - 4 - (height - 8) * value / most;
    const line = (which, tint, words) => drawing("g", { style: "--tint:" + tint }, drawing("title", {}, words), drawing("path", { d: rows.map((row, at) => (at > 0 ? "L" : "M") + x(at).toFixed(1) + "," + y(row.bytes[which]).toFixed(1)).join(" ") }), rows.map((row, at) => drawing("circle", { cx: x(at), cy: y(row.bytes[which]), r: 4 }, drawing("title", {}, whole(row) + ": " + size(row.bytes[which])))));
    const frame = el("div", { class: "series scroll" });
    const legend = el("ul", { class: "legend", "aria-label": "Lines" });
    const LINES = [["median heap", "median"], ["largest heap", "largest"]];
    const draw = () => {
      frame.replaceChildren(drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Heap by group" }, LINES.map(([words, key], which) => line(which, colorOf(key), words))));
      legend.replaceChildren(...LINES.map(([words, key]) => el("li", null, el("i", { style: "background:" + colorOf(key) }), words)));
    };
    LINES.forEach(([, key], at) => ranked.set(key, at));
    dark.addEventListener("change", draw);
    draw();
    const columns = [
      { title: "Group", text: true, value: (row) => whole(row).toLowerCase(), cell: (row) => name(whole(row)) },
      { title: "First captured", value: (row) => row.captured_at, cell: (row) => when(row.captured_at) },
      { title: "Runs", value: (row) => row.runs, cell: (row) => count(row.runs) },
      { title: "Hosts", value: (row) => row.hosts, cell: (row) => (row.hosts === 0 ? "" : count(row.hosts)) },
      { title: "Median heap", value: (row) => row.bytes[0], cell: (row) => size(row.bytes[0]) },
      { title: "Largest heap", value: (row) => row.bytes[1], cell: (row) => size(row.bytes[1]) },
      { title: "With high findings", value: (row) => row.high, cell: (row) => count(row.high) },
    ];
    const made = grid("groups", columns, rows, { by: 1, down: false, of: rows.length, placeholder: "Search groups", id: () => null, words: whole });
    section("groups", text(fleet.by) === "release" ? "Releases" : "Groups", rows.length > 1 ? [frame, legend] : null, made.view);
  };

  const sameCulprit = () => {
    if (data.clusters.length === 0) { section("clusters", "Same culprit", soft("No finding holds far more in several runs than it does in the others.")); return; }
    const one = (cluster) => el("tr", null,
      el("td", { class: "text" }, name(text(cluster.signature)), el("div", { class: "soft" }, cluster.hosts.length > 0 ? ["on ", name(cluster.hosts.map(text).join(", ")), cluster.of_hosts > cluster.hosts.length ? ", …" : ""] : null)),
      el("td", null, count(cluster.of_runs)), el("td", null, cluster.of_hosts > 0 ? count(cluster.of_hosts) : ""),
      el("td", { class: "text" }, name(cluster.releases.map(text).join(", "))),
      el("td", null, size(cluster.median)), el("td", null, size(cluster.max)),
      el("td", { class: "text" }, cluster.runs.map(([words, link], at) => [at > 0 ? el("br") : null, linked(text(words), link)]), cluster.of_runs > cluster.runs.length ? el("div", { class: "soft" }, "and " + count(cluster.of_runs - cluster.runs.length) + " more") : null));
    const titles = ["Culprit", "Runs", "Hosts", "Releases", "Median", "Largest", "Runs with the most"];
    const head = el("tr", null, titles.map((title) => el("th", { scope: "col", class: ["Culprit", "Releases", "Runs with the most"].includes(title) ? "text" : null }, title)));
    section("clusters", "Same culprit", soft("Runs in which the same finding holds far more than it usually does: at least 5 % of the heap beyond its 10 % quantile over all runs."), el("div", { class: "scroll" }, el("table", null, el("thead", null, head), el("tbody", null, data.clusters.map(one)))));
  };

  const worst = (table) => {
    const measure = text(table.measure);
    const amount = (value) => (measure.endsWith("bytes") ? size(value) : count(value));
    const columns = [
      { title: capital(table.name.replaceAll("_", " ").replace(/es$|s$/, "")), text: true, value: (row) => text(row.signature).toLowerCase(), cell: (row) => name(text(row.signature)) },
      { title: "Group", text: true, value: (row) => row.group, cell: (row) => name(whole(data.groups[row.group])) },
      { title: "All runs", value: (row) => row.sum, cell: (row) => amount(row.sum) },
      { title: "Largest", value: (row) => row.max, cell: (row) => amount(row.max) },
      { title: "Median", value: (row) => row.p50, cell: (row) => amount(row.p50) },
      { title: "Runs", value: (row) => row.with, cell: (row) => count(row.with) + " of " + count(row.of) },
      { title: "Hosts", value: (row) => row.hosts, cell: (row) => (row.hosts === null ? "" : count(row.hosts)) },
      { title: "Worst run", text: true, value: (row) => text(row.worst), cell: (row) => linked(text(row.worst), row.link) },
    ];
    const words = table.name.replaceAll("_", " ");
    const made = grid(table.name, columns, table.rows, { by: 3, down: true, of: table.of, placeholder: "Search " + words, id: () => null, words: (row) => text(row.signature) + " " + whole(data.groups[row.group]) });
    section(table.name, capital(words), soft("The rows of each group with the most " + measure.replaceAll("_", " ") + " in a run. The median is that of the runs that have it."), made.view);
  };

  const allRuns = () => {
    const columns = [
      { title: "Run", text: true, value: (row) => text(row.name).toLowerCase(), cell: (row) => linked(text(row.name), row.link) },
      { title: "Release", text: true, value: (row) => text(row.release), cell: (row) => name(text(row.release)) },
      { title: "Host", text: true, value: (row) => text(row.host), cell: (row) => name(text(row.host)) },
      { title: "Captured", value: (row) => row.captured_at, cell: (row) => when(row.captured_at) },
      { title: "Heap", value: (row) => row.bytes, cell: (row) => size(row.bytes) },
      { title: "High", value: (row) => row.findings[0], cell: (row) => count(row.findings[0]) },
      { title: "Medium", value: (row) => row.findings[1], cell: (row) => count(row.findings[1]) },
      { title: "Low", value: (row) => row.findings[2], cell: (row) => count(row.findings[2]) },
    ];
    const made = grid("runs", columns, data.runs, { by: 4, down: true, of: fleet.runs, placeholder: "Search runs", id: () => null, words: (row) => [row.name, row.release, row.host].map(text).join(" ") });
    section("runs", "Runs", soft("A name is a link where the run has a page: heaplake analyze with a report, or heaplake report, makes it."), made.view);
  };

  // ---- the page, from top to bottom ----
  fleetHead();
  sameCulprit();
  overTime();
  data.tables.forEach(worst);
  allRuns();
