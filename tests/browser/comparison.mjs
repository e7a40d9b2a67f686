// Opens pages of comparisons and of a trend in a real browser: node comparison.mjs CHROMIUM FOLDER PAGE HOSTILE_PAGE EMPTY_PAGE TREND_PAGE.
// Screenshots go to FOLDER.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { bytes, columnOf, isSorted, opener } from "./pages.mjs";

const [executablePath, folder, page, hostile, empty, trend] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const open = opener(browser);

const looks = async () => {
  for (const colorScheme of ["light", "dark"]) {
    const opened = await open(page, { colorScheme });
    await opened.screenshot({ path: `${folder}/comparison-${colorScheme}.png`, fullPage: true });
    assert.deepEqual(opened.trouble, []);
    await opened.close();
  }
};

const summarises = async (opened) => {
  assert.equal(await opened.textContent("h1"), "lake/base → lake/target");
  const tiles = await opened.$$eval(".tiles div", (list) => list.map((tile) => tile.textContent));
  assert.ok(tiles.some((tile) => tile.startsWith("New findings1")), String(tiles));
  assert.equal((await columnOf(opened, 2, "sides")).length, 10);
};

const findings = async (opened) => {
  const groups = await opened.$$eval("#findings details.group > summary", (list) => list.map((one) => one.textContent));
  // What may be duplicates, and may not be, comes last though it is the largest.
  assert.deepEqual(groups, ["New, 1", "Grown, 1", "Gone, 1", "Possible duplicates, 1"]);
  assert.match(await opened.textContent("#findings article"), /Session objects grows.*0 B → 7.0 MiB a run \(\+35.0 MiB on all\).*on 4 of 5 hosts: web1, web2, …/);
};

// The map is colored: what grew and what shrank differ, and a click tells the numbers.
const maps = async (opened) => {
  const colors = await opened.$$eval("#map-section .legend i", (list) => list.map((one) => getComputedStyle(one).backgroundColor));
  assert.equal(new Set(colors).size, 5);
  await opened.locator("#map canvas").scrollIntoViewIfNeeded();
  const box = await opened.locator("#map canvas").boundingBox();
  await opened.mouse.click(box.x + box.width * 0.2, box.y + box.height * 0.5);
  assert.match(await opened.textContent("#box-detail"), /^Session · 1.0 MiB → 9.0 MiB a run \(\+40.0 MiB on all, \+800.0 %\), q 0.004.* · new path$/);
};

// Every line ends where its numbers say, and no two labels lie on each other.
const slopes = async (opened) => {
  const lines = await opened.$$eval("#slopes g", (list) => list.map((one) => ({ more: one.classList.contains("more"), path: one.querySelector("path").getAttribute("d"), labels: [...one.querySelectorAll("text")].map((text) => Number(text.getAttribute("y"))) })));
  assert.equal(lines.length, 5);
  for (const { more, path } of lines) {
    const [, before, after] = path.match(/L\S+,(\S+) L\S+,(\S+) L/).map(Number);
    assert.equal(after < before, more, path);
  }
  for (const side of [0, 1]) {
    const places = lines.map((line) => line.labels[side]).sort((a, b) => a - b);
    assert.ok(places.every((place, i) => i === 0 || place - places[i - 1] > 13), String(places));
  }
};

const tables = async (opened) => {
  assert.deepEqual((await columnOf(opened, 1, "classes")).slice(0, 3), ["1", "2", "3"]);
  assert.match((await columnOf(opened, 2, "classes"))[0], /^Session chains.*through a new path: .*Map › Session \(\+7.0 MiB a run\)1 part of this growthEntry \+2.5 MiB grew on some$/);
  assert.deepEqual((await Promise.all([3, 4, 5, 6, 7, 8].map((at) => columnOf(opened, at, "classes")))).map((cells) => cells[2]), ["0 Ba run 0 B", "5.0 MiBa run 1.0 MiB", "+5.0 MiBa run +1.0 MiB", "new", "newon 4 of 5 hosts: web1, web2, …", "0.004"]);
  await opened.locator("#classes th button", { hasText: "Target" }).click();
  // The sum stands before what a run has.
  const sums = (await columnOf(opened, 4, "classes")).map((cell) => bytes(cell.split("a run")[0]));
  assert.ok(isSorted(sums), `by what the target has: ${sums}`);
  await opened.locator("#classes th button", { hasText: "Change" }).click();
  const changes = await columnOf(opened, 5, "classes");
  assert.deepEqual(changes.slice(0, 3), ["+40.0 MiBa run +8.0 MiB", "+10.0 MiBa run +2.0 MiB", "+5.0 MiBa run +1.0 MiB"]);
  // A part of the growth of another row is folded into that, until it is asked or searched for.
  assert.ok(!(await columnOf(opened, 2, "classes")).some((name) => name.startsWith("Entry")));
  await opened.check("#classes-parts");
  assert.match((await columnOf(opened, 2, "classes"))[3], /^Entry/);
  await opened.uncheck("#classes-parts");
  await opened.fill("#classes-search", "grew_on_some");
  assert.deepEqual(await columnOf(opened, 7, "classes"), ["grew on someon 4 of 5 hosts: web1, web2, …"]);
  await opened.fill("#classes-search", "vanished");
  assert.deepEqual((await columnOf(opened, 2, "classes")), ["Old"]);
  assert.deepEqual((await columnOf(opened, 9, "classes")), ["5/5 → 0/5"]);
  // The first 1,500 rows are there, the sums are of the others: 1,700 - 1,494 = 206 down to 1.
  assert.match(await opened.textContent("#classes"), /The other 206 rows together, on a run: 20\.8 KiB → 20\.8 KiB/);
};

const chains = async (opened) => {
  await opened.fill("#classes-search", "Session");
  await opened.locator("#classes a[href^='#chains-']").first().click();
  const group = opened.locator("#chains details[open]");
  await group.locator(".leafline").first().waitFor();
  const lines = await group.locator(".leafline").allTextContents();
  assert.equal(lines.length, 2);
  assert.match(lines[0], /^new\(GC roots\) › .cache Map › Session — 0 B → 7.0 MiB a run \(\+35.0 MiB on all\), 88 % of the growthon 4 of 5 hosts: web1, web2, …$/);
  assert.equal(await opened.textContent("#chains details.parts > summary"), "1 class that is a part of this growth");
};

const owners = async (opened) => {
  assert.match(await opened.textContent("#owner-bars li"), /\(application\)6.0 MiB → 14.0 MiB a run \(\+40.0 MiB on all\)/);
  assert.equal(await opened.locator("#owner-bars .two .bar").count(), 4);
};

const isUnharmed = async () => {
  const opened = await open(hostile, {});
  assert.equal(await opened.evaluate(() => window.hacked), undefined);
  assert.equal(await opened.locator("img, iframe, object, script[src], b[onclick]").count(), 0);
  assert.equal(await opened.locator("script").count(), 3);
  const [name] = await columnOf(opened, 2, "classes");
  assert.ok(name.includes("</script><img src=x onerror=") && name.includes("\\u{202e}") && !name.includes("\u202e"), name);
  await opened.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  // Every box tells its text in a tooltip.
  const box = await opened.locator("#map canvas").boundingBox();
  for (const right of [0.1, 0.5, 0.9]) await opened.mouse.move(box.x + box.width * right, box.y + box.height / 2);
  await opened.waitForTimeout(100);
  assert.equal(await opened.locator("img, b[onclick]").count(), 0);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
};

const isHonest = async () => {
  const opened = await open(empty, {}, "#sides");
  assert.match(await opened.textContent("#findings"), /no table of findings/);
  assert.equal(await opened.locator("#map").count(), 0);
  assert.deepEqual(opened.trouble, []);
  await opened.close();
};

// Lines, sparklines and slopes of what grows.
const trends = async () => {
  const opened = await open(trend, {}, "#series svg");
  await opened.screenshot({ path: `${folder}/trend-page.png`, fullPage: true });
  assert.deepEqual(opened.trouble, []);
  assert.equal(await opened.textContent("h1"), "release=one → release=four");
  const [name] = await columnOf(opened, 2, "classes");
  assert.match(name, /^Session/);
  // The level of a run at the first and the last step, all runs of the last, growth per step, shape.
  const row = async (at) => Promise.all([4, 5, 6, 7, 8].map(async (column) => (await columnOf(opened, column, "classes"))[at]));
  assert.deepEqual(await row(0), ["62.5 KiB", "156.3 KiB", "3.1 MiB", "+31.3 KiB", "growingon 20 of 20 hosts"]);
  // 1 KiB on all, 3 KiB more on eight of twenty: the mean grows, the median does not.
  const cache = await row(1);
  assert.deepEqual(cache.slice(0, 3), ["1.0 KiB", "2.2 KiB", "44.2 KiB"]);
  assert.match(cache[4], /^leaks on someon 8 of 20 hosts: web7, web6, web5, web4, web3, …$/);
  const path = await opened.locator("#classes .spark path").first().getAttribute("d");
  const heights = path.match(/,[\d.]+/g).map((point) => Number(point.slice(1)));
  assert.ok(heights.length === 4 && isSorted(heights), path);
  assert.equal((await columnOf(opened, 1, "steps")).length, 4);
  assert.equal(await opened.locator("#classes b").count(), 0);
  await opened.close();
};

try {
  await looks();
  const opened = await open(page, {});
  for (const check of [summarises, findings, maps, slopes, tables, chains, owners]) {
    await check(opened);
    assert.deepEqual(opened.trouble, [], check.name);
  }
  await opened.close();
  await isUnharmed();
  await isHonest();
  await trends();
  console.log("all well");
} finally {
  await browser.close();
}
