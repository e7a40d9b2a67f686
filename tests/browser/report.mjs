// Opens pages of runs in a real browser: node report.mjs CHROMIUM FOLDER PAGE HOSTILE_PAGE. Screenshots go to FOLDER.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder, page, hostile] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

// Opens a page that may not complain and may load nothing but itself.
const open = async (path, options) => {
  const opened = await browser.newPage({ viewport: { width: 1400, height: 1000 }, reducedMotion: "reduce", ...options });
  const url = pathToFileURL(path).href;
  opened.trouble = [];
  opened.on("console", (message) => { if (["error", "warning"].includes(message.type())) opened.trouble.push(message.text()); });
  opened.on("pageerror", (error) => opened.trouble.push(String(error)));
  opened.on("request", (request) => { if (request.url() !== url) opened.trouble.push("asked for " + request.url()); });
  opened.on("dialog", (dialog) => { opened.trouble.push("dialog " + dialog.message()); dialog.dismiss(); });
  await opened.goto(url);
  await opened.waitForSelector("#map canvas");
  return opened;
};
const crumbs = (opened) => opened.$$eval(".crumbs li", (items) => items.map((item) => item.textContent));
const column = (opened, number) => opened.$$eval(`#classes tbody td:nth-child(${number})`, (cells) => cells.map((cell) => cell.textContent));
const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const bytes = (text) => { const [value, unit] = text.split(" "); return Number(value) * units[unit]; };
const isSorted = (values) => values.every((value, i) => i === 0 || values[i - 1] >= value);

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

const searches = async (opened) => {
  const all = (await column(opened, 1)).length;
  await opened.fill("#classes-search", "session");
  const found = await column(opened, 1);
  assert.ok(found.length > 0 && found.length < all, `${found.length} of ${all}`);
  assert.ok(found.every((name) => name.toLowerCase().includes("session")));
  await opened.fill("#classes-search", "nothing has such a name");
  assert.equal((await column(opened, 1)).length, 0);
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

try {
  await looks();
  const opened = await open(page, {});
  assert.equal(await opened.evaluate(() => scrollY), 0, "the page begins at its beginning");
  for (const check of [zooms, hasKeys, sorts, searches, follows]) {
    await check(opened);
    assert.deepEqual(opened.trouble, [], check.name);
  }
  await opened.close();
  await isUnharmed();
  console.log("all well");
} finally {
  await browser.close();
}
