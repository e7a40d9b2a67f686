// Opens the page of a recording of Java in a real browser: node old_objects.mjs CHROMIUM FOLDER PAGE.
// Says what failed and exits with 1, or prints "all well".
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { columnOf, opener } from "./pages.mjs";

const [executablePath, folder, page] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const opened = await opener(browser)(page, {}, "#old-objects tbody tr");
  await opened.locator("#old-objects").screenshot({ path: `${folder}/old-objects.png` });
  // The oldest come first.
  const ages = (await columnOf(opened, 2, "old-objects")).map(parseFloat);
  assert.ok(ages.length === 9 && ages[0] === 2.6, String(ages));
  // Those with the chain of the leak, and the chain of the first.
  await opened.fill("#old-objects-search", "session.buffer");
  assert.equal(await opened.locator("#old-objects tbody tr").count(), 6);
  const first = opened.locator("#old-objects tbody tr details").first();
  assert.match(await first.textContent(), /^Class Loader Data — 6 holders$/);
  await first.locator("summary").click();
  // The page fills it in when the browser tells it that it is open.
  await first.locator(".steps li").first().waitFor();
  const steps = await first.locator(".steps li").allTextContents();
  assert.deepEqual([steps[2], steps.at(-1)], ["Flight.SESSIONS", "byte[]"]);
  // The finding has the same chain, and its type leads to the row of the type.
  const card = opened.locator("article", { hasText: "held-old-objects" });
  assert.match(await card.locator("h3").textContent(), /^medium6 × byte\[\] of 8 old objects that something holds, 0\.6 s to 2\.6 s old$/);
  assert.deepEqual(await card.locator(".steps li").allTextContents(), steps);
  assert.deepEqual(opened.trouble, []);
  console.log("all well");
} catch (error) {
  console.log(String(error.stack || error));
  process.exitCode = 1;
} finally {
  await browser.close();
}
