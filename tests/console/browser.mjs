// One headless Chromium, and pages of the console in it. What a page asks for, says or breaks is recorded.
import { readFileSync } from "node:fs";
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
