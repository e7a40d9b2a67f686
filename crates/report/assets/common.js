  // What the pages of runs and of comparisons have in common: their data, sections and tables.
  const data = JSON.parse(document.getElementById("data").textContent);
  const text = (position) => (position === null || position === undefined ? "" : data.texts[position]);

  // A section, listed in the navigation.
  const section = (id, title, ...children) => {
    byId("nav").append(el("a", { href: "#" + id }, title));
    const made = el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), children);
    byId("main").append(made);
    return made;
  };
  const missing = (what, how) => soft(what + " ", how ? [el("code", null, how), "."] : null);
  const summary = (list) => {
    const tile = ([what, value, more]) => el("div", null, el("dt", null, what), el("dd", null, value, more ? el("small", null, more) : null));
    byId("main").append(el("section", { class: "bare", "aria-label": "Summary" }, el("dl", { class: "tiles" }, list.filter(Boolean).map(tile))));
  };

  // ---- tables ----
  // A table that sorts by its columns, and searches its texts. Columns: title, value to sort by, cell, whether text. Rows
  // that `isPart` are hidden until they are asked for, or searched for.
  const FIRST = 20;
  const PAGE = 100;
  const grid = (id, columns, rows, options) => {
    let { by, down } = options;
    let found = rows;
    let shownRows = FIRST;
    const body = el("tbody");
    const status = el("span", { class: "soft", "aria-live": "polite" });
    const more = el("button", { type: "button", class: "plain", onclick: () => { shownRows += PAGE; fill(); } });
    const search = el("input", { type: "search", id: id + "-search", placeholder: options.placeholder, "aria-label": options.placeholder, oninput: () => { shownRows = FIRST; update(); } });
    const parts = options.isPart ? rows.filter(options.isPart).length : 0;
    const withParts = el("input", { type: "checkbox", id: id + "-parts", onchange: () => update() });
    const headers = columns.map((column, at) => el("th", { scope: "col", class: column.text ? "text" : null },
      el("button", { type: "button", onclick: () => { down = by === at ? !down : !column.text; by = at; update(); } }, column.title)));
    const fill = () => {
      body.replaceChildren(...found.slice(0, shownRows).map((row) => el("tr", { id: options.id(row), class: options.isPart && options.isPart(row) ? "part" : null }, columns.map((column) => el("td", { class: column.text ? "text" : null }, column.cell(row))))));
      more.hidden = found.length <= shownRows;
      more.textContent = "Show " + count(Math.min(PAGE, found.length - shownRows)) + " more";
      const left = options.of > rows.length ? "; the whole table has " + count(options.of) + ", the others are not in this page" : "";
      status.textContent = count(Math.min(shownRows, found.length)) + " of " + count(found.length) + left;
    };
    const update = () => {
      const wanted = search.value.toLowerCase();
      if (wanted !== "") found = rows.filter((row) => options.words(row).toLowerCase().includes(wanted));
      else found = parts > 0 && !withParts.checked ? rows.filter((row) => !options.isPart(row)) : rows.slice();
      const key = columns[by].value;
      const compare = (a, b) => { const [x, y] = [key(a), key(b)]; return x === y ? 0 : x === null ? 1 : y === null ? -1 : (x < y ? -1 : 1) * (down ? -1 : 1); };
      found.sort(compare);
      headers.forEach((header, at) => (at === by ? header.setAttribute("aria-sort", down ? "descending" : "ascending") : header.removeAttribute("aria-sort")));
      fill();
    };
    update();
    // Brings a row into view whatever is searched for.
    const reveal = (row) => {
      if (!found.includes(row)) { search.value = ""; withParts.checked = true; update(); }
      const at = found.indexOf(row);
      if (at >= shownRows) { shownRows = at + PAGE; fill(); }
    };
    const toggle = parts > 0 ? el("label", null, withParts, " also " + plural(parts, "row that is", "rows that are") + " a part of the growth of another") : null;
    const view = [el("div", { class: "tools" }, search, status, toggle), el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, headers)), body)), el("p", null, more)];
    return { view, reveal };
  };
