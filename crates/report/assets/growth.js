
  // ---- a map of what there is, colored by growth ----
  const mapped = () => [data.classes, data.types].find((table) => table && table.rows.length > 0);
  // From less over equal to more; what is new is as what doubled.
  const SCALE = { light: [[46, 110, 180], [222, 226, 231], [200, 70, 40]], dark: [[92, 160, 230], [58, 66, 78], [226, 100, 70]] };
  const growthColor = (part) => {
    const [less, equal, more] = SCALE[dark.matches ? "dark" : "light"];
    const end = part < 0 ? less : more;
    // Small changes are told apart too.
    const way = Math.sqrt(Math.min(1, Math.abs(part)));
    return "rgb(" + equal.map((from, at) => Math.round(from + (end[at] - from) * way)).join(",") + ")";
  };
  const growthOf = (row) => (row.percent !== null ? row.percent / 100 : row.delta > 0 ? 1 : 0);

  const growthMap = () => {
    const table = mapped();
    if (!table) return;
    const BOXES = 300;
    const boxes = table.rows.filter((row) => mean(row.target) > 0).sort((a, b) => mean(b.target) - mean(a.target));
    const map = el("div", { id: "map", role: "img", "aria-label": "Map of the target, colored by growth; the tables below have the same numbers" });
    const key = (part, words) => el("li", null, el("i", { style: "background:" + growthColor(part) }), words);
    const legend = el("ul", { class: "legend", "aria-label": "Colors of the map" });
    const detail = el("p", { class: "soft", id: "box-detail", "aria-live": "polite" }, "Click a box to see its numbers.");
    const what = table === data.classes ? "classes" : "types";
    section("map-section", "What grew", soft("Size: what the " + what + " have in the target" + (many ? ", on a run in the mean" : "") + " (" + measureName(table.measures[0]) + "). Color: how much more or less than in the base. " + (what === "classes" ? "A class may hold another, so the boxes do not add up to the heap." : "")), map, legend, detail);
    const rest = boxes.slice(BOXES).reduce((sum, row) => sum + mean(row.target), 0) + Math.max(0, table.rest.target);
    const chart = echarts.init(map, null, { renderer: "canvas" });
    const lines = (row) => [subject(table, row), fromTo(table, row, row.percent === null ? "" : ", " + percent(row.percent)) + (row.q === null ? "" : ", q " + row.q.toPrecision(2)), STATUS[statusOf(row)] || statusOf(row)];
    const draw = () => {
      const style = getComputedStyle(document.body);
      const [ink, card] = ["--ink", "--card"].map((property) => style.getPropertyValue(property).trim());
      const items = boxes.slice(0, BOXES).map((row) => ({ name: subject(table, row), value: mean(row.target), row: row.rank, itemStyle: { color: growthColor(growthOf(row)) } }));
      if (rest > 0) items.push({ name: "others", value: rest, itemStyle: { color: growthColor(0) } });
      legend.replaceChildren(key(-1, "half or less"), key(-0.1, "10 % less"), key(0, "equal"), key(0.1, "10 % more"), key(1, "twice or more, or new"));
      chart.setOption({
        animation: false,
        tooltip: {
          confine: true, backgroundColor: card, borderColor: ink, textStyle: { color: ink },
          formatter: ({ data: box }) => {
            const words = box && box.row !== undefined ? lines(table.rows[box.row]) : ["others"];
            return el("div", null, words.map((line) => el("div", null, el("bdi", null, line.length > 160 ? line.slice(0, 160) + "…" : line))));
          },
        },
        series: [{ type: "treemap", data: items, roam: false, nodeClick: false, breadcrumb: { show: false }, left: 0, right: 0, top: 0, bottom: 0, label: { color: ink, formatter: ({ name: words }) => words.slice(0, 80) }, itemStyle: { borderColor: card, borderWidth: 1, gapWidth: 1 } }],
      }, true);
    };
    chart.on("click", ({ data: box }) => { if (box && box.row !== undefined) detail.replaceChildren(...lines(table.rows[box.row]).map((line, at) => (at === 0 ? name(line) : el("span", null, " · " + line)))); });
    addEventListener("resize", () => chart.resize());
    dark.addEventListener("change", draw);
    draw();
  };

  // ---- slopes: the rows that changed most, from base to target ----
  const slopes = () => {
    const table = mapped();
    if (!table) return;
    const LINES = 14;
    const rows = table.rows.filter((row) => row.delta !== null && row.delta !== 0 && !isPart(row) && !(many && statusOf(row) === "within_noise")).sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta)).slice(0, LINES);
    if (rows.length === 0) return;
    const [width, top, height, left, right] = [1000, 18, 380, 130, 420];
    const [from, to] = [(row) => mean(row.base) || 0, (row) => mean(row.target) || 0];
    const most = Math.max(...rows.map((row) => Math.max(from(row), to(row))));
    const y = (value) => top + height - height * value / most;
    // Labels keep a distance: each is pushed below the one above it, and all back up where they leave the picture.
    const places = (value) => {
      const GAP = 17;
      const order = rows.map((row) => ({ row, at: y(value(row)) })).sort((a, b) => a.at - b.at);
      order.forEach((one, i) => { if (i > 0) one.at = Math.max(one.at, order[i - 1].at + GAP); });
      for (let i = order.length - 1, end = top + height + 8; i >= 0; i -= 1, end -= GAP) order[i].at = Math.min(order[i].at, end);
      return new Map(order.map(({ row, at }) => [row, at]));
    };
    const [before, after] = [places(from), places(to)];
    const label = (words) => (words.length > 38 ? words.slice(0, 24) + "…" + words.slice(-13) : words);
    const line = (row) => drawing("g", { class: row.delta > 0 ? "more" : "less" },
      drawing("title", {}, subject(table, row) + ": " + plain(table, from(row)) + " → " + plain(table, to(row))),
      drawing("path", { d: `M${left},${before.get(row)} L${left + 16},${y(from(row))} L${width - right - 16},${y(to(row))} L${width - right},${after.get(row)}` }),
      drawing("text", { x: left - 6, y: before.get(row) + 4, "text-anchor": "end" }, from(row) ? plain(table, from(row)) : "–"),
      drawing("text", { x: width - right + 6, y: after.get(row) + 4 }, (to(row) ? plain(table, to(row)) : "–") + "  " + label(subject(table, row))));
    const picture = drawing("svg", { viewBox: `0 0 ${width} ${top + height + 16}`, role: "img", "aria-label": "Lines from base to target" }, rows.map(line));
    section("slopes", "From base to target", soft("The " + plural(rows.length, "line", "lines") + " that changed most, in " + measureName(table.measures[0]) + " size" + (many ? " of a run in the mean" : "") + ". Left the base, right the target."), el("div", { class: "slopes scroll" }, picture));
  };

  const ownerBars = () => {
    const table = data.owners;
    if (!table || table.rows.length === 0) return;
    const larger = (row) => Math.max(mean(row.base) || 0, mean(row.target) || 0);
    const rows = table.rows.slice().sort((a, b) => larger(b) - larger(a)).slice(0, 12);
    const most = Math.max(...rows.map(larger));
    const one = (row) => el("li", null, el("span", { class: "pair" }, name(subject(table, row)), el("span", { class: "soft" }, fromTo(table, row))), el("span", { class: "two" }, bar(mean(row.base) || 0, most), bar(mean(row.target) || 0, most)));
    section("owner-bars", "Whose memory it is", soft("The largest owners: above the base, below the target."), el("ol", { class: "beside" }, rows.map(one)));
  };

  // ---- the page, from top to bottom ----
  compareHead();
  compareTiles();
  comparedFindings();
  growthMap();
  slopes();
  ownerBars();
  const toChains = (row) => (data.chains && data.chains.rows.some((chain) => idOf(chain, chain.class) === idOf(row)) ? [" ", el("a", { href: "#chains-" + idOf(row) }, "chains")] : null);
  changes("classes", "Classes", "what would go with all objects of the class, nothing counted twice.", [toChains]);
  comparedChains();
  changes("owners", "Owners", "each byte counts for one owner.");
  changes("duplicates", "Duplicates", "what would go if the members of a set were merged into one.");
  changes("types", "Allocated types", "bytes that were allocated, estimated where the trace has samples only.");
  changes("functions", "Allocating functions", "what a function and all that it calls allocated.");
  changes("lifetimes", "Lifetimes", "what died in a generation, by type.");
  sides();
  made();
  const openTarget = () => {
    const found = location.hash.length > 1 ? byId(location.hash.slice(1)) : null;
    for (let around = found; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
