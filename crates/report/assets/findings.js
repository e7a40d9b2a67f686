
  // ---- findings ----
  const findingCard = (finding, at) => {
    const severity = text(finding.severity);
    const { title, rest, steps } = clauses(text(finding.message));
    const path = finding.path.length > 0 ? finding.path.map(text) : steps;
    const facts = [
      text(finding.rule), size(finding.bytes), plural(finding.count, "object", "objects"),
      finding.owner !== null ? ["owner ", name(text(finding.owner))] : null,
      finding.place !== null ? ["at ", name(text(finding.place))] : null,
      finding.class !== null && classRow.has(finding.class) ? el("a", { href: "#class-" + finding.class }, "class in the table") : null,
      finding.class !== null && chained.has(finding.class) ? el("a", { href: "#chain-" + finding.class }, "chains") : null,
      finding.class !== null && heldTrees.has(finding.class) ? el("a", { href: "#holders-" + finding.class }, "all holders") : null,
      finding.set !== null ? setLink(finding.set) : null,
      finding.type !== null && shownHere("types", finding.type) ? el("a", { href: "#type-" + finding.type }, "type in the table") : null,
      finding.function !== null && shownHere("functions", finding.function) ? el("a", { href: "#function-" + finding.function }, "function in the table") : null,
    ].filter(Boolean);
    const holder = finding.holder !== null && finding.holder !== finding.node ? whyLink(finding.holder, "Held by ") : null;
    const node = finding.node !== null ? whyLink(finding.node, finding.count > 1 && holder !== null ? "For example " : "") : null;
    // Commands name the run, so that they can be pasted.
    const next = withPlace(text(finding.next));
    return el("article", { class: severity, id: "finding-" + at, "aria-labelledby": "finding-title-" + at },
      el("h3", { id: "finding-title-" + at }, el("span", { class: "badge" }, severity), el("bdi", null, title)),
      rest === "" ? null : el("p", null, el("bdi", null, rest)),
      pathOf(path), holder, node,
      el("p", null, el("bdi", null, next)),
      el("p", { class: "soft" }, facts.map((fact, i) => [i > 0 ? " · " : null, fact])));
  };

  // The largest owners, beside the findings.
  const ownersBeside = () => {
    if (!data.owners || data.owners.rows.length < 2) return null;
    const { rows, of } = data.owners;
    const LARGEST = 8;
    const most = rows[0].retained;
    const one = (row) => el("li", null, el("span", { class: "pair" }, name(text(row.name)), el("span", { class: "soft" }, size(row.retained) + ", " + share(row.retained))), bar(row.retained, most));
    return el("aside", { "aria-labelledby": "beside-title" }, el("h3", { id: "beside-title" }, "Whose memory it is"), el("ol", { class: "beside" }, rows.slice(0, LARGEST).map(one)), el("p", null, el("a", { href: "#owners" }, of > LARGEST ? "all " + count(of) + " owners" : "more about owners")));
  };

  const findings = () => {
    if (!data.findings) {
      section("findings", "Findings", missing("This run has no table of findings."));
      return;
    }
    const { rows, of } = data.findings;
    const SHOWN = 8;
    const cards = rows.map(findingCard);
    const words = rows.length === 0 ? "No rule found anything." : rows.length < of ? "The first " + rows.length + " of " + count(of) + ", the most severe first." : "What the rules found, the most severe first. Open an object to see what keeps it alive.";
    const more = cards.length > SHOWN ? el("details", { class: "more" }, el("summary", null, plural(cards.length - SHOWN, "more finding", "more findings")), el("div", { class: "cards" }, cards.slice(SHOWN))) : null;
    const beside = ownersBeside();
    section("findings", "Findings", soft(words), el("div", { class: beside === null ? null : "columns" }, el("div", null, el("div", { class: "cards" }, cards.slice(0, SHOWN)), more), beside));
  };
