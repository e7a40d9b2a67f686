// Opens pages of runs in a real browser: node report.mjs CHROMIUM FOLDER PAGE HOSTILE_PAGE TRACE_PAGE HOSTILE_TRACE_PAGE.
// Screenshots go to FOLDER.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { bytes, columnOf, isSorted, opener } from "./pages.mjs";

const [executablePath, folder, page, hostile, trace, hostileTrace] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

const open = opener(browser);
const crumbs = (opened) => opened.$$eval(".crumbs li", (items) => items.map((item) => item.textContent));
const column = (opened, number, table = "classes") => columnOf(opened, number, table);

const looks = async () => {
  for (const colorScheme of ["light", "dark"]) {
    const opened = await open(page, { colorScheme });
    await opened.screenshot({ path: `${folder}/report-${colorScheme}.png` });
    assert.deepEqual(opened.trouble, []);
    await opened.close();
  }
};

const zooms = async (opened) => {
  const drawn = await opened.$eval("#map canvas", (canvas) => canvas.toDataURL());
  const before = await crumbs(opened);
  await opened.locator("#map canvas").scrollIntoViewIfNeeded();
  const box = await opened.locator("#map canvas").boundingBox();
  // Some places are gaps between boxes, or boxes with nothing in them.
  for (const [right, down] of [[0.25, 0.3], [0.25, 0.5], [0.25, 0.7], [0.6, 0.3], [0.6, 0.7], [0.1, 0.2], [0.85, 0.5]]) {
    await opened.mouse.click(box.x + box.width * right, box.y + box.height * down);
    if ((await crumbs(opened)).length > before.length) break;
  }
  const after = await crumbs(opened);
  assert.ok(after.length > before.length, `a click zooms: ${before} to ${after}`);
  // The map is drawn with a later frame than the path above it.
  await opened.waitForFunction((old) => document.querySelector("#map canvas").toDataURL() !== old, drawn);
  await opened.locator(".crumbs button").first().click();
  assert.deepEqual(await crumbs(opened), ["Heap"]);
};

const hasKeys = async (opened) => {
  await opened.locator("[role='treeitem'][aria-level='1']").focus();
  await opened.keyboard.press("ArrowDown");
  await opened.keyboard.press("Enter");
  const inside = await crumbs(opened);
  const selected = () => opened.$eval("[aria-selected='true'] .grow", (row) => row.textContent);
  assert.notEqual(await selected(), "Heap");
  await opened.keyboard.press("ArrowRight");
  await opened.keyboard.press("ArrowRight");
  const level = Number(await opened.evaluate(() => document.activeElement.getAttribute("aria-level")));
  assert.ok(level > 2, `arrows go down: level ${level}`);
  await opened.keyboard.press("Enter");
  assert.ok((await crumbs(opened)).length >= inside.length);
  for (let up = 1; up < level; up += 1) await opened.keyboard.press("Backspace");
  assert.equal(await selected(), "Heap");
};

const sorts = async (opened) => {
  const header = (title) => opened.locator("#classes th button", { hasText: title });
  assert.ok(isSorted((await column(opened, 2)).map(bytes)), "by retained size at first");
  await header("Objects").click();
  assert.equal(await opened.locator("#classes th", { hasText: "Objects" }).getAttribute("aria-sort"), "descending");
  assert.ok(isSorted((await column(opened, 5)).map((text) => Number(text.replaceAll(",", "")))), "by objects");
  await header("Class").click();
  const names = (await column(opened, 1)).map((text) => text.replace(/ chains$/, "").toLowerCase());
  assert.deepEqual(names, [...names].sort(), "by name, ascending");
};

// A finding: a short title, the path in steps, and what keeps its object alive, with a command for more.
const explains = async (opened) => {
  const card = opened.locator("#findings article").first();
  const title = await card.locator("h3").textContent();
  assert.ok(title.length < 90 && !title.includes("→"), title);
  const steps = await card.locator(".steps li").allTextContents();
  assert.ok(steps.length > 2 && steps.every((step) => !/[→›]/.test(step)), String(steps));
  assert.equal(await card.locator(".why .body").count(), 0);
  await card.locator(".why summary").first().focus();
  await opened.keyboard.press("Enter");
  await card.locator(".why .body").waitFor();
  const above = await card.locator(".why li").allTextContents();
  assert.ok(above.length > 0 && above.every((line) => / — retains [\d.]+ [KMG]?i?B$/.test(line)), String(above));
  const retained = above.map((line) => bytes(line.split(" — retains ")[1]));
  assert.ok(isSorted([...retained].reverse()), "what is further up retains no less");
  assert.match(await card.locator(".why code").textContent(), /^heaplake why \S*release=none\/snapshot=\S+ \d+$/);
  assert.ok((await opened.locator("#findings aside li").count()) > 1, "owners are beside the findings");
  assert.match(await opened.locator("#head").textContent(), /Captured.*Release.*none.*Input/);
};

// The map: more levels draw more, and the legend has what is drawn.
const layers = async (opened) => {
  const legend = () => opened.locator(".legend li").allTextContents();
  const draws = async (levels) => {
    await opened.selectOption("#map-levels", String(levels));
    return legend();
  };
  const [one, many] = [await draws(1), await draws(12)];
  assert.ok(one.length > 1 && many.length > 1);
  assert.notDeepEqual(one, many);
  await opened.selectOption("#map-levels", "5");
  assert.ok((await opened.locator("[role='treeitem'] .grow", { hasText: /^[\d,]+ × Function \(\w+, …\)$/ }).count()) > 0, "functions have names");
};

// Tables begin short.
const begins = async (opened) => {
  assert.equal((await column(opened, 1)).length, 20);
  await opened.locator("#classes").getByRole("button", { name: /^Show \d+ more$/ }).click();
  assert.ok((await column(opened, 1)).length > 20);
};

const searches = async (opened) => {
  const all = (await column(opened, 1)).length;
  await opened.fill("#classes-search", "session");
  const found = await column(opened, 1);
  assert.ok(found.length > 0 && found.length < all, `${found.length} of ${all}`);
  assert.ok(found.every((name) => name.toLowerCase().includes("session")));
  await opened.fill("#classes-search", "nothing has such a name");
  assert.equal((await column(opened, 1)).length, 0);
};

const owns = async (opened) => {
  const names = await column(opened, 1, "owners");
  assert.ok(names.includes("(application)") && names.includes("node"), `owners: ${names}`);
  assert.ok(isSorted((await column(opened, 2, "owners")).map(bytes)), "owners by retained size");
};

// All holders of the class of a finding: the tree opens level by level, and says what a branch alone holds.
const holds = async (opened) => {
  const link = opened.locator("#findings a[href^='#holders-']").first();
  const id = (await link.getAttribute("href")).slice(1);
  await link.click();
  const tree = opened.locator("#" + id);
  assert.ok((await tree.getAttribute("open")) !== null, "a link opens the tree");
  const first = tree.locator(":scope > details[data-branch]");
  await first.first().waitFor();
  const lines = await first.locator(":scope > summary").allTextContents();
  assert.ok(lines.every((line) => /holders? of [\d,]+ \(\d+ %\), .* retained .*; (alone|others hold)/.test(line)), String(lines));
  assert.ok(lines.some((line) => line.includes("; alone")), String(lines));
  const branch = first.first();
  assert.equal(await branch.locator("details").count(), 0, "what is further up is made when it is asked for");
  await branch.locator(":scope > summary").focus();
  await opened.keyboard.press("Enter");
  await branch.locator(":scope > p code").waitFor();
  assert.match(await branch.locator(":scope > p code").first().textContent(), /^heaplake why \S+ \d+ --all$/);
  assert.ok((await branch.locator(":scope > details, :scope > .leafline").count()) > 0, "holders have holders");
};

// The table is still searched for something else: the link must bring its row back.
const follows = async (opened) => {
  await opened.locator("#findings a[href^='#class-']").first().click();
  const target = await opened.evaluate(() => location.hash);
  assert.match(target, /^#class-\d+$/);
  const row = opened.locator(`${target}.target`);
  await row.waitFor();
  assert.equal(await opened.evaluate(() => "#" + document.activeElement.id), target);
  const inView = await row.evaluate((element) => { const { top, bottom } = element.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; });
  assert.ok(inView, "the row is in view");
};

const isUnharmed = async () => {
  const opened = await open(hostile, {});
  assert.equal(await opened.evaluate(() => window.hacked), undefined);
  assert.equal(await opened.locator("img, iframe, object, script[src], b[onclick]").count(), 0);
  assert.equal(await opened.locator("script").count(), 3);
  await opened.fill("#classes-search", "onerror");
  const [name] = await column(opened, 1);
  assert.ok(name.includes("</script><img src=x onerror="), name);
  assert.ok(name.includes("\\u{202e}") && !name.includes("\u202e"), "marks of direction are shown, not followed");
  await opened.fill("#classes-search", "AAAAAAAA");
  assert.match((await column(opened, 1))[0], /A… \(\d+ bytes more\)/);
  // Opens every chain of every class, those that opening shows, too.
  for (let closed = -1; closed !== 0;) {
    closed = await opened.evaluate(() => {
      const list = document.querySelectorAll("#chains details:not([open])");
      for (const details of list) details.open = true;
      return list.length;
    });
    await opened.waitForTimeout(50);
  }
  assert.deepEqual(opened.trouble, []);
  await opened.close();
};

// ---- pages of traces ----
const openTrace = (path, options) => open(path, options, ".flame .box");
const boxes = (opened) => opened.$$eval(".flame .box", (list) => list.map((box) => ({ name: box.title.split("\n")[0], level: Number(box.getAttribute("aria-level")), ...(({ left, right, top }) => ({ left, right, top }))(box.getBoundingClientRect()) })));
const told = (opened) => opened.textContent("#calls-detail");
const choose = (opened, title, option) => opened.locator(`#calls select[aria-label='${title}']`).selectOption({ index: option });

const traceLooks = async () => {
  for (const colorScheme of ["light", "dark"]) {
    const opened = await openTrace(trace, { colorScheme });
    await opened.screenshot({ path: `${folder}/trace-${colorScheme}.png` });
    await choose(opened, "What is drawn", 1);
    await choose(opened, "Direction", 1);
    for (const section of ["calls", "collections"]) await opened.locator("#" + section).screenshot({ path: `${folder}/trace-${section}-${colorScheme}.png` });
    assert.deepEqual(opened.trouble, []);
    await opened.close();
  }
};

// Boxes lie inside those of their callers, and beside each other.
const nests = async (opened) => {
  for (const drawn of [0, 1]) {
    for (const direction of [0, 1]) {
      await choose(opened, "What is drawn", drawn);
      await choose(opened, "Direction", direction);
      const list = await boxes(opened);
      assert.ok(list.length > 50, `${list.length} boxes`);
      assert.equal(list.filter((box) => box.level === 1).length, 1);
      const [whole] = list;
      for (const box of list.slice(1)) {
        const above = list.filter((one) => one.level === box.level - 1 && one.left <= box.left + 0.5 && one.right >= box.right - 0.5);
        assert.equal(above.length, 1, `${box.name} at level ${box.level}`);
        assert.ok(direction === 0 ? box.top > whole.top : box.top < whole.top, "down or up");
      }
      for (const level of new Set(list.map((box) => box.level))) {
        const row = list.filter((box) => box.level === level).sort((a, b) => a.left - b.left);
        row.forEach((box, i) => assert.ok(i === 0 || box.left >= row[i - 1].right - 0.5, `${box.name} beside ${i && row[i - 1].name}`));
      }
    }
  }
  await choose(opened, "What is drawn", 0);
  await choose(opened, "Direction", 0);
};

const flameZooms = async (opened) => {
  const all = await boxes(opened);
  const inner = all.find((box) => box.name === "Program::MidLived");
  assert.ok(inner, "the fixture's function has a box");
  await opened.locator(".flame .box[aria-label^='Program::MidLived,']").click();
  const zoomed = (await boxes(opened)).find((box) => box.name === "Program::MidLived");
  assert.ok(zoomed.right - zoomed.left > 2 * (inner.right - inner.left), "a click makes a box wide");
  assert.match(await told(opened), /^Program::MidLived: .* of all/);
  await opened.getByRole("button", { name: "Whole" }).click();
  assert.deepEqual((await boxes(opened)).length, all.length);
  const before = await told(opened);
  await choose(opened, "Width of boxes", 1);
  assert.notEqual(await told(opened), before);
  assert.match(await told(opened), /^all allocations: [\d,]+ objects/);
  await choose(opened, "Width of boxes", 0);
};

const flameHasKeys = async (opened) => {
  await opened.locator(".flame .box[aria-level='1']").focus();
  const level = () => opened.evaluate(() => Number(document.activeElement.getAttribute("aria-level")));
  for (let step = 0; step < 7; step += 1) await opened.keyboard.press("ArrowDown");
  assert.equal(await level(), 8);
  const first = await told(opened);
  await opened.keyboard.press("ArrowRight");
  assert.notEqual(await told(opened), first);
  assert.equal(await level(), 8);
  await opened.keyboard.press("ArrowLeft");
  assert.equal(await told(opened), first);
  await opened.keyboard.press("Enter");
  assert.equal(await opened.locator(".flame .box.zoomed").count(), 1);
  for (let step = 0; step < 7; step += 1) await opened.keyboard.press("Backspace");
  assert.equal(await level(), 1);
  assert.match(await told(opened), /^all allocations/);
};

const flameSearches = async (opened) => {
  await opened.fill("#calls-search", "midlived");
  const hits = await opened.$$eval(".flame .box.hit", (list) => list.map((box) => box.title.split("\n")[0]));
  assert.ok(hits.length > 0 && hits.every((name) => name === "Program::MidLived"), String(hits));
  assert.match(await opened.textContent("#calls .tools"), /\d+ box(es)?, [\d.]+ % of all bytes/);
  await opened.fill("#calls-search", "");
  assert.equal(await opened.locator(".flame .box.hit, .flame .box.miss").count(), 0);
};

// From the table of types to who allocates one, and from functions to where they are called.
const jumps = async (opened) => {
  await opened.fill("#types-search", "Order");
  await opened.locator("#types tbody tr", { hasText: /^Order/ }).getByRole("button").click();
  assert.match(await told(opened), /^Order: /);
  assert.equal((await boxes(opened)).filter((box) => box.level === 2).length, 1);
  await opened.fill("#functions-search", "MakeOrder");
  await opened.locator("#functions tbody tr").first().getByRole("button").click();
  assert.ok(await opened.locator(".flame .box.hit").count() > 0);
};

// From a finding to the row that it is about.
const leads = async (opened) => {
  await opened.locator("#findings a[href^='#function-']").first().click();
  const target = await opened.evaluate(() => location.hash);
  const row = opened.locator(`${target}.target`);
  await row.waitFor();
  assert.match(await row.textContent(), /^Program::ShortLived/);
  assert.equal(await opened.evaluate(() => "#" + document.activeElement.id), target);
};

const traceIsUnharmed = async () => {
  const opened = await openTrace(hostileTrace, {});
  assert.equal(await opened.evaluate(() => window.hacked), undefined);
  assert.equal(await opened.locator("img, iframe, object, script[src], b[onclick]").count(), 0);
  assert.equal(await opened.locator("script").count(), 3);
  const names = (await boxes(opened)).map((box) => box.name);
  assert.ok(names.some((name) => name.includes("</script><img src=x onerror=")), String(names.slice(0, 9)));
  assert.ok(names.every((name) => !name.includes("\u202e")), "marks of direction are shown, not followed");
  // Every box, every way to draw it.
  for (const drawn of [0, 1]) {
    await choose(opened, "What is drawn", drawn);
    for (const box of (await boxes(opened)).slice(0, 30)) {
      await opened.evaluate((name) => [...document.querySelectorAll(".flame .box")].find((one) => one.title.startsWith(name)).click(), box.name);
      await opened.getByRole("button", { name: "Whole" }).click();
    }
  }
  assert.deepEqual(opened.trouble, []);
  await opened.close();
};

try {
  await looks();
  const opened = await open(page, {});
  assert.equal(await opened.evaluate(() => scrollY), 0, "the page begins at its beginning");
  for (const check of [explains, layers, begins, zooms, hasKeys, sorts, searches, owns, follows, holds]) {
    await check(opened);
    assert.deepEqual(opened.trouble, [], check.name);
  }
  await opened.close();
  await isUnharmed();
  await traceLooks();
  const replayed = await openTrace(trace, {});
  for (const check of [nests, flameZooms, flameHasKeys, flameSearches, jumps, leads]) {
    await check(replayed);
    assert.deepEqual(replayed.trouble, [], check.name);
  }
  await replayed.close();
  await traceIsUnharmed();
  console.log("all well");
} finally {
  await browser.close();
}
