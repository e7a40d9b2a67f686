
  // The page of a trend: the steps, and what grows along them.
  const steps = data.trend.steps;
  const stepName = (at) => text(steps[at].selection);
  const shapeOf = (row) => text(row.shape);
  const GROWS = ["growing", "leaks_on_some"];
  // The broken line of values, with a dot at the last. A step without a value is a gap.
  const lineOf = (values, width, height, most) => {
    const x = (at) => 2 + (width - 4) * (values.length > 1 ? at / (values.length - 1) : 0.5);
    const y = (value) => height - 2 - (height - 4) * (most > 0 ? value / most : 0);
    const points = values.map((value, at) => (value === null ? null : [x(at), y(value)]));
    const path = points.map((point, at) => (point === null ? "" : (at > 0 && points[at - 1] !== null ? "L" : "M") + point.map((one) => one.toFixed(1)).join(","))).join(" ");
    const last = points.filter(Boolean).at(-1);
    return [drawing("path", { d: path }), last ? drawing("circle", { cx: last[0], cy: last[1], r: 2 }) : null];
  };
  const sparkline = (values, words) => drawing("svg", { class: "spark", viewBox: "0 0 120 24", role: "img", "aria-label": words }, drawing("title", {}, words), lineOf(values, 120, 24, Math.max(...values.map((value) => value || 0))));

  const trendHead = () => {
    const facts = [["Steps", [count(data.trend.first + steps.length), " by ", name(text(data.trend.by))]], ["Format", name(text(data.trend.format))]];
    const span = steps.length > 0 ? [name(stepName(0)), " → ", name(stepName(steps.length - 1))] : "No steps";
    byId("head").append(el("h1", null, span), el("dl", { class: "facts" }, facts.map(([what, value]) => el("div", null, el("dt", null, what), el("dd", null, value)))));
    if (data.trend.first > 0) byId("head").append(soft("The last " + count(steps.length) + " steps are in this page."));
    for (const remark of data.trend.remarks) byId("head").append(el("p", { class: "soft", role: "note" }, "Note: ", el("bdi", null, text(remark))));
    byId("foot").append("heaplake " + text(data.trend.version) + ". Sizes are bytes of the heap in units of 1024.");
    if (steps.length === 0) return;
    const [first, last] = [steps[0], steps.at(-1)];
    const growing = (table) => data[table].rows.filter((row) => GROWS.includes(shapeOf(row))).length;
    summary([
      ["Heap", [size(first.bytes), " → ", size(last.bytes)], sparkline(steps.map((step) => step.bytes), "heap by step")],
      ["Objects", [count(first.objects), " → ", count(last.objects)], sparkline(steps.map((step) => step.objects), "objects by step")],
      data.classes ? ["Growing classes", count(growing("classes"))] : null,
      data.chains ? ["Growing chains", count(growing("chains"))] : null,
    ]);
  };

  // What a step has several runs for.
  const many = steps.some((step) => step.of > 1);
  const levels = many ? ", the median of a step's runs (the mean of what leaks on some hosts)" : "";

  // The rows that grow most, as lines over the steps.
  const growing = () => {
    const table = [data.classes, data.types].find((one) => one && one.rows.length > 0);
    if (!table || steps.length < 2) return;
    const LINES = 10;
    // Rows come ranked: what grows first, by its growth on all runs.
    const rows = table.rows.filter((row) => row.slope > 0 && !isPart(row)).slice(0, LINES);
    if (rows.length === 0) return;
    const [width, height] = [1000, 300];
    const most = Math.max(...rows.flatMap((row) => row.values.map((value) => value || 0)));
    const line = (row) => {
      const tint = colorOf(subject(table, row));
      const made = drawing("g", { style: "--tint:" + tint }, drawing("title", {}, subject(table, row)), lineOf(row.values, width, height, most));
      return made;
    };
    rows.forEach((row, at) => { const words = subject(table, row); if (!ranked.has(words)) ranked.set(words, at % LIGHT.length); });
    const legend = el("ul", { class: "legend", "aria-label": "Lines" });
    const frame = el("div", { class: "series scroll" });
    const draw = () => {
      frame.replaceChildren(drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "What grows, over the steps" }, rows.map(line)));
      legend.replaceChildren(...rows.map((row) => el("li", null, el("i", { style: "background:" + colorOf(subject(table, row)) }), name(subject(table, row)), " " + plain(table, row.values.at(-1)))));
    };
    dark.addEventListener("change", draw);
    draw();
    section("series", "What grows", soft("The " + plural(rows.length, "row", "rows") + " of " + (table === data.classes ? "classes" : "types") + " that grow most, in " + measureName(table.measures[0]) + " size" + levels + ", from " , name(stepName(0)), " to ", name(stepName(steps.length - 1)), ". The top of the picture is " + plain(table, most) + "."), frame, legend);
  };

  const SHAPES = { growing: "growing", leaks_on_some: "leaks on some", plateau: "plateau", sawtooth: "sawtooth", none: "" };
  const rates = (id, title) => {
    const table = data[id];
    if (!table) return;
    const parts = partsOf(table);
    const ends = (row) => { const known = row.values.filter((value) => value !== null); return [known[0], known.at(-1)]; };
    const step = (at) => (at === null ? "" : at >= data.trend.first && at - data.trend.first < steps.length ? stepName(at - data.trend.first) : String(at));
    const slope = (row) => {
      if (row.slope === null) return "";
      const rate = (value) => signed(table, isBytes(table) ? Math.round(value) : Number(value.toPrecision(3)));
      return el("span", { title: row.low === null ? null : "95 %: " + rate(row.low) + " to " + rate(row.high) }, rate(row.slope));
    };
    const columns = [
      { title: "#", value: (row) => row.rank, cell: (row) => String(row.rank + 1) },
      { title: capital(subjectKey(table)), text: true, value: (row) => subject(table, row).toLowerCase(), cell: (row) => [name(subject(table, row)), formatOf(row), text(row.signature) === subject(table, row) ? null : el("div", { class: "soft" }, name(text(row.signature))), folded(table, parts.get(idOf(row)), (part) => signed(table, Math.round(part.slope)) + " a step")] },
      { title: "Steps", value: (row) => row.slope, cell: (row) => sparkline(row.values, row.values.map((value) => plain(table, value) || "–").slice(-12).join(" → ")) },
      { title: "First", value: (row) => ends(row)[0], cell: (row) => plain(table, ends(row)[0]) },
      { title: "Last", value: (row) => ends(row)[1], cell: (row) => plain(table, ends(row)[1]) },
      { title: "Per step", value: (row) => row.slope, cell: slope },
      { title: "Shape", value: shapeOf, cell: (row) => (SHAPES[shapeOf(row)] === "" ? "" : [el("span", { class: "badge " + shapeOf(row) }, SHAPES[shapeOf(row)] || shapeOf(row)), onHosts(row.grown)]) },
      { title: "Grows from", value: (row) => row.first, cell: (row) => name(step(row.first)) },
    ];
    if (steps.length > 0 && steps.at(-1).of > 1) columns.splice(5, 0, { title: "Last, all runs", value: (row) => row.sum, cell: (row) => plain(table, row.sum) });
    const made = grid(id, columns, table.rows, { by: 0, down: false, of: table.of, placeholder: "Search " + title.toLowerCase(), isPart, id: () => null, words: (row) => table.keys.map((key) => keyOf(table, row, key)).join(" ") + " " + text(row.signature) + " " + shapeOf(row) });
    section(id, title, soft("By step: " + measureName(table.measures[0]) + (isBytes(table) ? " size" : "") + levels + "."), made.view);
  };

  const stepTable = () => {
    const titles = ["Step", "Runs", "Heap", "Objects"];
    const line = (step) => el("tr", null, el("td", { class: "text" }, el("span", { title: step.runs.map((run) => text(run.path)).join("\n") }, name(text(step.selection)))), el("td", null, count(step.of)), el("td", null, size(step.bytes)), el("td", null, count(step.objects)));
    section("steps", "Steps", el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, titles.map((title, at) => el("th", { scope: "col", class: at === 0 ? "text" : null }, title)))), el("tbody", null, steps.map(line)))));
  };

  // ---- the page, from top to bottom ----
  trendHead();
  growing();
  rates("classes", "Classes");
  rates("chains", "Chains");
  rates("owners", "Owners");
  rates("findings", "Findings");
  rates("duplicates", "Duplicates");
  rates("types", "Allocated types");
  rates("functions", "Allocating functions");
  rates("lifetimes", "Lifetimes");
  stepTable();
