// Shows the view of the address.
import { byId, el, name, soft } from "./shared.js";
import { takeToken } from "./ask.js";
import { current, href, onAmended } from "./route.js";
import { failure } from "./parts.js";
import { lake } from "./lake.js";
import { PLACES, run } from "./run.js";
import { classes, duplicates, findings, objects, owners, set, tree, types } from "./lists.js";
import { classView } from "./class.js";
import { object } from "./object.js";
import { clusters, compare } from "./several.js";
import { sql } from "./sql.js";

const VIEWS = { lake, run, findings, classes, objects, owners, types, tree, duplicates, set, class: classView, object, compare, clusters, sql };
const EVERYWHERE = [["lake", "Lake"], ["compare", "Compare"], ["clusters", "Clusters"], ["sql", "SQL"]];

// Where a view was scrolled to, by its address.
const scrolled = new Map();
let shown = null;
const showing = (address) => { shown = address; byId("main").dataset.shown = address; };
let control = new AbortController();

const navigation = (view, values, places) => {
  const link = (key, title, of) => el("a", { href: href(key, of), "aria-current": key === view ? "page" : null }, title);
  const list = EVERYWHERE.map(([key, title]) => link(key, title, {}));
  if (values.run) list.push(el("span", { class: "soft" }, "run ", name(values.run)), ...(places || PLACES).map(([key, title]) => link(key, title, { run: values.run })));
  byId("nav").replaceChildren(...list);
};

const show = async () => {
  control.abort();
  control = new AbortController();
  const { signal } = control;
  const { view, values } = current();
  const address = location.hash;
  navigation(view, values);
  byId("main").setAttribute("aria-busy", "true");
  const slow = setTimeout(() => byId("main").replaceChildren(soft("Reading …")), 300);
  const done = ({ title, head, parts, places }) => {
    clearTimeout(slow);
    if (signal.aborted) return;
    document.title = title + " · heaplake explore";
    navigation(view, values, places);
    byId("head").replaceChildren(...head);
    byId("main").replaceChildren(...parts.flat(9).filter(Boolean));
    byId("main").removeAttribute("aria-busy");
    byId("main").focus({ preventScroll: true });
    scrollTo(0, scrolled.get(address) || 0);
    showing(address);
  };
  try {
    const make = Object.hasOwn(VIEWS, view) ? VIEWS[view] : null;
    if (make === null) throw Object.assign(new Error("There is no view of this name."), { advice: "Begin with the lake." });
    const made = await make({ values, signal });
    if (made.redirect) {
      clearTimeout(slow);
      if (!signal.aborted) { history.replaceState(history.state, "", made.redirect); show(); }
      return;
    }
    done(made);
  } catch (error) {
    if (error.name === "AbortError") { clearTimeout(slow); return; }
    done({ title: "Problem", head: [el("h1", null, "This cannot be shown")], parts: [failure(error)] });
  }
};

onAmended(() => showing(location.hash));
addEventListener("hashchange", show);
addEventListener("scroll", () => { if (shown === location.hash) scrolled.set(shown, scrollY); }, { passive: true });
addEventListener("keydown", (event) => {
  const busy = event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select");
  if (event.key !== "/" || busy) return;
  const filter = byId("main").querySelector("input[type='search']");
  if (filter) { event.preventDefault(); filter.focus(); filter.select(); }
});
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
history.scrollRestoration = "manual";
takeToken();
show();
