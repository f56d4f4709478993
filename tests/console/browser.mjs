// One headless Chromium, and pages of the console in it. What a page asks for, says or breaks is recorded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(process.env.HELIO_MODULES ?? new URL("../../console/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const {
  HELIO_URL: url,
  HELIO_ADMIN: admin,
  HELIO_USER: user,
  HELIO_LEAVER: leaver,
  HELIO_LEAVER_ID: leaverId,
} = process.env;
export const shots = process.env.HELIO_SHOTS;
export const pictures = process.env.HELIO_PICTURES;

// Without these Chromium looks for its vendor's hosts.
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
let browser = null;

export async function openBrowser() {
  browser = await chromium.launch({ executablePath: process.env.HELIO_CHROMIUM ?? "/usr/bin/chromium", args: flags });
}
export const closeBrowser = () => browser.close();

// Opens the console at that place; token "" = nobody is signed in. The page has `record`: {urls, complaints}.
export async function open(
  place,
  { token = admin, theme = "light", width = 1280, height = 900, motion = "no-preference" } = {},
) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: motion });
  if (token) await context.addInitScript((text) => sessionStorage.setItem("heliostat.token", text), token);
  const page = await context.newPage();
  page.record = { urls: [], complaints: [] };
  page.on("request", (request) => page.record.urls.push(request.url()));
  page.on("pageerror", (error) => page.record.complaints.push(`${error}`));
  page.on("console", (message) => {
    // a request that fails is part of some cases; what breaks the policy or throws never is
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      page.record.complaints.push(message.text());
  });
  page.setDefaultTimeout(30000);
  await page.goto(`${url}/console/${place}`);
  return page;
}

// Violations that axe finds, as lines.
export async function violations(page) {
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ["violations"] }),
  );
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target}: ${failureSummary}`),
  );
}

export async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

// What is in view, as a small file for the documents.
export async function picture(page, name) {
  const shown = (await page.screenshot()).toString("base64");
  const blank = await page.context().newPage();
  const small = await blank.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.86).split(",")[1];
  }, shown);
  await blank.close();
  writeFileSync(join(pictures, `${name}.webp`), Buffer.from(small, "base64"));
}

export async function api(method, path, body, token = admin) {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export const submit = async (document) => (await api("POST", "jobs", document)).id;

// Waits for a condition, not for a time; the bound is for machines that are busy.
export async function until(what, condition, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const stateOf = async (id) => (await api("GET", `jobs/${id}`)).state;
export const reaches = (id, state) => until(`${id} is ${state}`, async () => (await stateOf(id)) === state);

export async function control(verb, name) {
  const answer = await fetch(`${process.env.HELIO_CONTROLS}/${verb}/${name}`, { method: "POST" });
  if (!answer.ok) throw new Error(`${verb} ${name}: ${answer.status}`);
}

// Rows of a query as lists of texts, and what the command line prints as JSON: what pages have to agree with.
export const sql = (query) =>
  execFileSync("psql", ["-qXAt", "-F", "\t", process.env.HELIO_DATABASE, "-c", query], { encoding: "utf8" })
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split("\t"));
export const helio = (...words) =>
  JSON.parse(execFileSync(process.env.HELIO_TOOL, [...words, "-o", "json"], { encoding: "utf8" }));

export const close = async (page) => {
  assert.deepEqual(page.record.complaints, []);
  await page.context().close();
};
export const rows = (page, label) =>
  page.getByRole("region", { name: label, exact: true }).locator("tbody tr:not(.gap)");
export const cells = async (page, label, column) => {
  const table = page.getByRole("region", { name: label, exact: true });
  const titles = (await table.locator("thead th").allInnerTexts()).map((text) => text.replace(/[▴▾\s]+$/, ""));
  const at = titles.indexOf(column);
  assert.ok(at >= 0, `${label} has no column ${column}: ${titles}`);
  return table.locator(`tbody tr:not(.gap) > :nth-child(${at + 1})`).allInnerTexts();
};

// In either theme axe finds nothing, plots are drawn anew, and the page is no wider than a phone.
export async function forEverybody(page, name) {
  const plots = () =>
    page.locator(".plot canvas").evaluateAll((all) => all.map((canvas) => canvas.toDataURL()).join());
  const bright = await plots();
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await until(theme, () => page.evaluate((chosen) => document.documentElement.dataset.theme === chosen, theme));
    if (theme === "dark" && bright) await until("dark plots", async () => (await plots()) !== bright);
    await shot(page, `${name}-${theme}`);
    assert.deepEqual(await violations(page), [], theme);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await shot(page, `${name}-phone`);
  const beyond = (all) => all.filter((link) => link.getBoundingClientRect().right > innerWidth).map((link) => link.textContent);
  assert.deepEqual(await page.locator("nav a").evaluateAll(beyond), []);
  const [inner, whole] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
  assert.ok(whole <= inner, `${whole} > ${inner}`);
}
