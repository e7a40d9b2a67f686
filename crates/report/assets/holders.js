
  // ---- all holders of big classes ----
  const heldTrees = new Map((data.holders ? data.holders.rows : []).map((tree) => [tree.class, tree]));

  const holders = () => {
    if (!data.holders) {
      section("holders", "Held by", missing("This run has no table of retainer trees."));
      return;
    }
    const { rows, of } = data.holders;
    const percent = (part, all) => (all > 0 ? Math.round(100 * part / all) : 0) + " %";
    const render = (tree) => {
      const below = tree.branches.rows.map(() => []);
      const first = [];
      tree.branches.rows.forEach((branch, at) => (branch.parent === null ? first : below[branch.parent]).push(at));
      const title = (branch) => {
        if (text(branch.kind) === "rest") return [el("span", { class: "edge" }, "all other holders")];
        const edge = branch.edge === null ? null : el("span", { class: "edge" }, name((/^[[(]/.test(text(branch.edge)) ? "" : ".") + text(branch.edge)));
        return [name(text(branch.kind) === "root" ? "(root)" : text(branch.holder)), edge];
      };
      const line = (branch) => [
        title(branch),
        el("span", { class: "soft" }, " — ", plural(branch.holders, "holder", "holders"), " of ", count(branch.count), " (" + percent(branch.count, tree.looked_at) + "), ", size(branch.shallow), ", retained ", size(branch.retained), "; "),
        el("b", { class: "alone", title: "Freed when this branch lets go, and nothing else has to" }, branch.alone[0] === branch.count ? "alone" : branch.alone[0] === 0 ? "others hold each of them, too" : "alone " + percent(branch.alone[0], branch.count) + ", " + size(branch.alone[1])),
        branch.cut ? el("span", { class: "cut", title: "A limit of work left something out here" }, " (cut)") : null,
      ];
      const one = (at) => {
        const branch = tree.branches.rows[at];
        const nearest = text(branch.kind) === "holder" ? el("p", { class: "soft" }, "The nearest to the root: ", el("code", null, "heaplake why " + quoted(text(run.place)) + " " + branch.example + " --all")) : null;
        if (below[at].length === 0 && nearest === null) return el("div", { class: "leafline" }, line(branch));
        const made = el("details", { "data-branch": at }, el("summary", null, line(branch)));
        made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(...flat([nearest, below[at].map(one)])); });
        return made;
      };
      return first.map(one);
    };
    const tree = (tree) => {
      const known = classRow.get(tree.class);
      const made = el("details", { id: "holders-" + tree.class }, el("summary", null, name(text(tree.name)), el("span", { class: "soft" }, " — " + (known && known.count > tree.looked_at ? count(tree.looked_at) + " looked at of " : "") + plural(known ? known.count : tree.looked_at, "object", "objects") + (known ? ", retained " + size(known.retained) : ""))));
      made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return;
        made.append(...render(tree));
        const left = tree.branches.of - tree.branches.rows.length;
        if (left > 0) made.append(soft(plural(left, "branch", "branches") + " further up " + (left === 1 ? "is" : "are") + " in the table retainer_trees, not in this page."));
      });
      return made;
    };
    const words = rows.length < of ? " The page has " + count(rows.length) + " of " + count(of) + " trees." : "";
    const none = rows.length === 0 ? missing("No class is big enough for a tree.") : null;
    section("holders", "Held by", soft("All that holds the objects of each big class, not only on the shortest path. Open a line to see what holds the holders. Alone: these objects go when this branch lets go; the others are held elsewhere as well. Objects can be in several branches." + words), none, rows.map(tree));
  };
