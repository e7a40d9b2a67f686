
  // The page of a fleet: releases over time, runs with the same culprit, the worst rows, the runs.
  const fleet = data.fleet;
  const when = (time) => (time === null ? "" : new Date(time).toISOString().slice(0, 16).replace("T", " "));
  const linked = (words, link) => (link === null ? name(words) : el("a", { href: text(link) }, name(words)));
  const groupName = (group) => [group.release === null ? null : text(group.release), text(group.labels)].filter(Boolean).join(", ") || text(group.format);
  const several = new Set(data.groups.map((group) => text(group.format))).size > 1;
  const whole = (group) => groupName(group) + (several && groupName(group) !== text(group.format) ? " (" + text(group.format) + ")" : "");

  const fleetHead = () => {
    byId("head").append(el("h1", null, plural(fleet.runs, "run", "runs")), el("dl", { class: "facts" }, [["Groups", [count(data.groups.length), " by ", name(text(fleet.by))]], ["Formats", name([...new Set(data.groups.map((group) => text(group.format)))].join(", "))], ...(fleet.conditions.length > 0 ? [["Only runs", name(fleet.conditions.map(text).join(", "))]] : []), ...(fleet.night === null ? [] : [["Last night", name(text(fleet.night[0]) + " (UTC)")]])].map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value)))));
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

  // The median heap by night: a line for each format and release, with axes.
  const DAY = 86400000;
  const dayOf = (time) => new Date(time).toISOString().slice(0, 10);
  const lineName = (line) => (text(line.release) + (several ? " (" + text(line.format) + ")" : "")) || text(line.format);
  // The unit of an axis from zero, the distance of its ticks, and its end, all in bytes.
  const scale = (most) => {
    const unit = UNITS.findLastIndex((_, at) => 1024 ** at <= most);
    const bytes = 1024 ** Math.max(0, unit);
    const rough = Math.max(1, most) / bytes / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((times) => times * power >= rough) * power;
    return { unit: UNITS[Math.max(0, unit)], bytes, step, ticks: Math.ceil(Math.max(1, most) / bytes / step - 1e-9) };
  };
  const nights = () => {
    if (data.lines.length === 0) return soft("No run says when it was captured, so there is no picture of the nights.");
    data.lines.forEach((line, at) => ranked.set(lineName(line), at % LIGHT.length));
    const [width, height, left, right, top, bottom] = [1000, 320, 90, 20, 16, 56];
    const points = data.lines.flatMap((line) => line.points);
    const [first, last] = points.reduce(([low, high], [time]) => [Math.min(low, time), Math.max(high, time)], [Infinity, -Infinity]);
    const axis = scale(points.reduce((most, [, bytes]) => Math.max(most, bytes), 0));
    const end = axis.ticks * axis.step * axis.bytes;
    const x = (time) => left + (width - left - right) * (last > first ? (time - first) / (last - first) : 0.5);
    const y = (bytes) => height - bottom - (height - top - bottom) * bytes / end;
    const rows = [...Array(axis.ticks + 1).keys()].map((at) => {
      const [value, place] = [at * axis.step, y(at * axis.step * axis.bytes)];
      return [drawing("line", { x1: left, x2: width - right, y1: place, y2: place }), drawing("text", { x: left - 8, y: place + 4, "text-anchor": "end" }, String(Number(value.toPrecision(3))))];
    });
    const days = Math.round((last - first) / DAY);
    const every = Math.max(1, Math.ceil(days / 8));
    const columns = [...Array(Math.floor(days / every) + 1).keys()].map((at) => {
      const time = first + at * every * DAY;
      return [drawing("line", { x1: x(time), x2: x(time), y1: height - bottom, y2: height - bottom + 5 }), drawing("text", { x: x(time), y: height - bottom + 20, "text-anchor": "middle" }, dayOf(time))];
    });
    const titles = [drawing("text", { class: "axis", x: left + (width - left - right) / 2, y: height - 8, "text-anchor": "middle" }, "Day of capture (UTC)"), drawing("text", { class: "axis", transform: `translate(18 ${top + (height - top - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "Median heap (" + axis.unit + ")")];
    const line = (of) => drawing("g", { style: "--tint:" + colorOf(lineName(of)) }, drawing("title", {}, lineName(of)), drawing("path", { d: of.points.map(([time, bytes], at) => (at > 0 ? "L" : "M") + x(time).toFixed(1) + "," + y(bytes).toFixed(1)).join(" ") }), of.points.map(([time, bytes, runs]) => drawing("circle", { cx: x(time), cy: y(bytes), r: 4 }, drawing("title", {}, lineName(of) + ", " + dayOf(time) + ": " + size(bytes) + ", " + plural(runs, "run", "runs")))));
    const frame = el("div", { class: "series axes scroll" });
    const legend = el("ul", { class: "legend", "aria-label": "Lines" });
    const draw = () => {
      frame.replaceChildren(drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Median heap by day of capture" }, rows, columns, titles, data.lines.map(line)));
      legend.replaceChildren(...data.lines.map((of) => el("li", null, el("i", { style: "background:" + colorOf(lineName(of)) }), name(lineName(of)))));
    };
    dark.addEventListener("change", draw);
    draw();
    const left_out = fleet.lines > data.lines.length ? " The " + data.lines.length + " of " + count(fleet.lines) + " releases with the latest runs." : "";
    return [soft("The median heap of the runs of each day, a line for each format and release." + left_out), frame, legend];
  };

  const overTime = () => {
    const rows = data.groups.map((group, at) => ({ ...group, at })).sort((a, b) => (a.captured_at ?? 0) - (b.captured_at ?? 0) || a.at - b.at);
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
    section("groups", text(fleet.by) === "release" ? "Releases" : "Groups", nights(), made.view);
  };

  const sameCulprit = () => {
    if (data.clusters.length === 0) { section("clusters", "Same culprit", soft("No finding holds far more in several runs than it does in the others.")); return; }
    const hostsOf = (words, list, of) => (of === 0 ? null : el("div", { class: "soft" }, words + " ", name(list.map(text).join(", ")), of > list.length ? ", …" : ""));
    const changes = (cluster) => [
      cluster.is_new ? el("span", { class: "badge new" }, "new") : null,
      el("div", null, plural(cluster.night_runs, "run", "runs")),
      hostsOf("came:", cluster.hosts_come, cluster.of_changes[0]), hostsOf("went:", cluster.hosts_gone, cluster.of_changes[1]), hostsOf("no run that night:", cluster.hosts_unseen, cluster.of_changes[2])];
    const one = (cluster) => el("tr", null,
      el("td", { class: "text" }, name(text(cluster.signature)), el("div", { class: "soft" }, cluster.hosts.length > 0 ? ["on ", name(cluster.hosts.map(text).join(", ")), cluster.of_hosts > cluster.hosts.length ? ", …" : ""] : null)),
      el("td", null, count(cluster.of_runs)), el("td", null, cluster.of_hosts > 0 ? count(cluster.of_hosts) : ""),
      el("td", { class: "text" }, name(cluster.releases.map(text).join(", "))),
      el("td", null, size(cluster.median)), el("td", null, size(cluster.max)),
      el("td", { class: "text" }, cluster.seen === null ? "" : [when(cluster.seen[0]), el("br"), when(cluster.seen[1])]),
      fleet.night === null ? null : el("td", { class: "text" }, changes(cluster)),
      el("td", { class: "text" }, cluster.runs.map(([words, link], at) => [at > 0 ? el("br") : null, linked(text(words), link)]), cluster.of_runs > cluster.runs.length ? el("div", { class: "soft" }, "and " + count(cluster.of_runs - cluster.runs.length) + " more") : null));
    const titles = ["Culprit", "Runs", "Hosts", "Releases", "Median", "Largest", "First and last seen", fleet.night === null ? null : "Last night", "Runs with the most"].filter(Boolean);
    const head = el("tr", null, titles.map((title) => el("th", { scope: "col", class: ["Runs", "Hosts", "Median", "Largest"].includes(title) ? null : "text" }, title)));
    const night = fleet.night === null ? null : soft("The last night is " + text(fleet.night[0]) + " (UTC), the day of the newest run: " + plural(fleet.night[1], "run", "runs") + " on " + plural(fleet.night[2], "host", "hosts") + ". A cluster is new if all its runs are of that night and there are runs before it. Hosts came that are in it that night and were not before; hosts went that were in it before and have other runs that night.");
    section("clusters", "Same culprit", soft("Runs in which the same finding holds far more than it usually does: at least 5 % of the heap beyond its usual size, the 10 % quantile over all runs. What nearly all runs of each release have is usual up to its spread."), night, el("div", { class: "scroll" }, el("table", null, el("thead", null, head), el("tbody", null, data.clusters.map(one)))));
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
