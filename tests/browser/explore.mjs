// Opens heaplake explore in a real browser: node explore.mjs CHROMIUM FOLDER URL HOSTILE_URL. The first URL is of a lake of
// two runs, the newer of which leaks in SessionCache.sessions. Screenshots go to FOLDER.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { bytes, columnOf, isSorted } from "./pages.mjs";

const [executablePath, folder, url, hostileUrl] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

// A page that may not complain, and may ask its own server only.
const open = async (address, options) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, reducedMotion: "reduce", ...options });
  // The binary of a test is slow, and not alone on its machine.
  context.setDefaultTimeout(120000);
  const page = await context.newPage();
  page.trouble = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.trouble.push(message.text()); });
  page.on("pageerror", (error) => page.trouble.push(String(error)));
  page.on("request", (request) => { if (new URL(request.url()).origin !== new URL(address).origin && !request.url().startsWith("blob:")) page.trouble.push("asked for " + request.url()); });
  page.on("dialog", (dialog) => { page.trouble.push("dialog " + dialog.message()); dialog.dismiss(); });
  await page.goto(address);
  await quiet(page);
  return page;
};
const quiet = (page) => page.waitForFunction(() => document.querySelector("h1") && document.getElementById("main").dataset.shown === location.hash && !document.querySelector("[aria-busy='true']"));
const heading = (page) => page.textContent("h1");
const press = async (page, key) => { await page.keyboard.press(key); await quiet(page); };
const click = async (page, locator) => { await locator.click(); await page.waitForTimeout(50); await quiet(page); };

// From the lake to the object that leaks, by links alone.
const reaches = async (page) => {
  let clicks = 0;
  const follow = async (locator) => { clicks += 1; await click(page, locator); };
  assert.equal(await heading(page), "Lake");
  assert.ok(!page.url().includes("token"), "the token is not in the address");
  await follow(page.locator("#runs tbody a[href^='#run?']").first());
  assert.match(await page.textContent("article.high h3"), /SessionCache\.sessions/);
  await follow(page.locator("article.high a[href^='#object?']").first());
  assert.match(await heading(page), /^Map @\d+$/);
  assert.match(await page.textContent(".path"), /\.cache SessionCache.*\.sessions Map/);
  assert.ok(clicks <= 5, String(clicks));
  return page.url();
};

const goesBack = async (page, object) => {
  await page.goBack();
  await quiet(page);
  assert.match(await heading(page), /leaking/);
  await page.goBack();
  await quiet(page);
  assert.equal(await heading(page), "Lake");
  await page.goForward();
  await page.goForward();
  await quiet(page);
  assert.equal(page.url(), object);
  await page.reload();
  await quiet(page);
  assert.match(await heading(page), /^Map @/);
  // As pasted from a ticket, into a tab of its own.
  const other = await page.context().newPage();
  await other.goto(object);
  await quiet(other);
  assert.match(await heading(other), /^Map @/);
  await other.close();
};

const go = async (page, title) => click(page, page.locator("nav a", { hasText: new RegExp("^" + title + "$") }));

const filters = async (page) => {
  await go(page, "Classes");
  assert.ok(isSorted((await columnOf(page, 2, "classes")).map(bytes)), "by retained size at first");
  await page.locator("h1").click();
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "classes-filter");
  await page.keyboard.type("session");
  const names = await columnOf(page, 1, "classes");
  assert.ok(names.length > 0 && names.every((name) => name.toLowerCase().includes("session")), String(names));
  assert.match(page.url(), /q=session/);
  await page.reload();
  await quiet(page);
  assert.deepEqual(await columnOf(page, 1, "classes"), names, "the filter is a part of the address");
  await page.locator("#classes th button", { hasText: "Objects" }).click();
  assert.equal(await page.locator("#classes th", { hasText: "Objects" }).getAttribute("aria-sort"), "descending");
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  const lines = fs.readFileSync(await (await waiting).path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, names.length + 1);
  assert.ok(lines[0].startsWith("Class,Retained"), lines[0]);
};

const climbs = async (page) => {
  await go(page, "Dominator tree");
  const row = () => page.evaluate(() => ({ level: Number(document.activeElement.getAttribute("aria-level")), open: document.activeElement.getAttribute("aria-expanded"), text: document.activeElement.textContent }));
  await page.locator("#tree tbody tr[tabindex='0']").focus();
  assert.deepEqual([(await row()).level, (await row()).open], [1, "true"]);
  for (const level of [2, 3, 4]) {
    await press(page, "ArrowDown");
    assert.equal((await row()).level, level);
    await press(page, "ArrowRight");
    assert.equal((await row()).open, "true", JSON.stringify(await row()));
  }
  await press(page, "ArrowLeft");
  assert.equal((await row()).open, "false");
  await press(page, "ArrowLeft");
  assert.equal((await row()).level, 3);
  await press(page, "Home");
  assert.equal((await row()).level, 1);
  await press(page, "ArrowDown");
  const { text } = await row();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#object?"));
  await quiet(page);
  assert.ok(text.includes(await heading(page)), text);
  await page.goBack();
  await quiet(page);
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as SVG" }).click();
  const svg = fs.readFileSync(await (await waiting).path(), "utf8");
  assert.ok(svg.startsWith("<svg") && svg.includes('xmlns="http://www.w3.org/2000/svg"') && svg.includes("<rect"), svg.slice(0, 200));
  await page.locator(".treemap [tabindex='0']").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node="));
  await quiet(page);
};

// An object with more children and references than a page has.
const pages = async (page, object) => {
  await page.goto(object);
  await quiet(page);
  await click(page, page.locator("#dominated tbody a").first());
  assert.match(await heading(page), /^\(array\)/);
  const shown = () => page.locator("#dominated tbody tr").count();
  assert.equal(await shown(), 50);
  const region = page.locator("section", { has: page.locator("#dominated") });
  await click(page, region.getByRole("button", { name: "Read more" }));
  await page.waitForFunction(() => document.querySelectorAll("#dominated tbody tr").length === 100);
  const references = page.locator("section", { has: page.locator("#references-holds") });
  await click(page, references.getByRole("button", { name: "Read more" }));
  await page.waitForFunction(() => document.querySelectorAll("#references-holds tbody tr").length > 40);
};

const stands = async (page) => {
  // WCAG rules that a machine can check, in both colour schemes; 200 % of a window of 1280 pixels.
  const defects = [];
  for (const hash of ["#lake", ...["run", "findings", "classes", "objects", "owners", "tree", "duplicates"].map((view) => `#${view}?run=${encodeURIComponent(page.run)}`), "#compare", "#clusters", page.object]) {
    await page.goto(url.split("/?")[0] + "/" + hash);
    await quiet(page);
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }).then(({ violations }) => violations.map((one) => one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "))));
    defects.push(...found.map((one) => hash + ": " + one));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) defects.push(`${hash}: ${wide} pixels beyond the window`);
  }
  assert.deepEqual(defects, []);
};

const isInert = async () => {
  const page = await open(hostileUrl);
  for (const view of ["run", "findings", "classes", "objects", "owners", "tree", "duplicates"]) {
    await go(page, view === "run" ? "Overview" : view === "tree" ? "Dominator tree" : view[0].toUpperCase() + view.slice(1));
    const seen = await page.evaluate(() => ({ hacked: window.hacked, images: document.images.length, scripts: document.scripts.length, bold: document.querySelectorAll("b").length, wide: document.documentElement.scrollWidth - innerWidth }));
    assert.deepEqual({ ...seen, wide: seen.wide <= 0 }, { hacked: undefined, images: 0, scripts: 1, bold: 0, wide: true }, view);
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await page.textContent("body")), view);
  }
  await go(page, "Classes");
  assert.ok((await columnOf(page, 1, "classes")).some((name) => name.includes("<img")), "the name is shown as text");
  assert.deepEqual(page.trouble, []);
  await page.context().close();
};

const main = async () => {
  const page = await open(url);
  const object = await reaches(page);
  page.object = new URL(object).hash;
  page.run = new URLSearchParams(page.object.split("?")[1]).get("run");
  await goesBack(page, object);
  await filters(page);
  await climbs(page);
  await pages(page, object);
  assert.deepEqual(page.trouble, []);
  await page.context().close();
  for (const colorScheme of ["light", "dark"]) {
    const small = await open(url, { colorScheme, viewport: { width: 640, height: 500 } });
    Object.assign(small, { object: page.object, run: page.run });
    await stands(small);
    await small.context().close();
    const large = await open(url, { colorScheme });
    for (const [name, hash] of [["lake", "#lake"], ["run", `#run?run=${encodeURIComponent(page.run)}`], ["object", page.object]]) {
      await large.goto(url.split("/?")[0] + "/" + hash);
      await quiet(large);
      await large.screenshot({ path: `${folder}/explore-${name}-${colorScheme}.png` });
    }
    assert.deepEqual(large.trouble, []);
    await large.context().close();
  }
  await isInert();
};

main().then(() => console.log("all well"), (error) => { console.log(error); process.exitCode = 1; }).finally(() => browser.close());
