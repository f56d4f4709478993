// The cases of tests/console/pages.py: each page over a federation of real processes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { admin, api, cells, close, closeBrowser, control, forEverybody, leaver, leaverId, open, openBrowser } from "./browser.mjs";
import { reaches, rows, shot, stateOf, submit, until, url, user, violations } from "./browser.mjs";

const counter = 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo "step $i"; sleep 0.3; done';
const long = (name, more = {}) => ({ name, gpu: "H100:2", cpus: 1, time: "1h", run: counter, ...more });
let running; // a job that runs throughout
let waiting; // one that waits for a site which does not have what it needs yet

before(async () => {
  await openBrowser();
  await control("kill", "brisbane"); // it is silent by the time of its case
  running = await submit(long("steady", { placement: { sites: ["frankfurt"] } }));
  await reaches(running, "running");
  const both = { gpu: "H100:8", nodes: 2, queue: "batch", placement: { sites: ["frankfurt"] } };
  waiting = await submit(long("patient", both));
  await submit(long("patient-too", both));
});
after(closeBrowser);

// ---- signing in

test("login: a token that is refused says why, and one that is accepted opens the page that was asked for", async () => {
  const page = await open("#/sites", { token: "" });
  await page.getByLabel("Token").fill("hel_wrong_token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").filter({ hasText: "token" }).waitFor();
  await shot(page, "login-refused");
  await page.keyboard.press("Control+A"); // the field has the focus again
  await page.keyboard.type(user);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Sites" }).waitFor();
  await page.getByText("demo · user").waitFor();
  await close(page);
});

test("login: the token is in no address, no cookie and no store that outlives the tab", async () => {
  const page = await open("#/map", { token: "" });
  await page.getByLabel("Token").fill(admin);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  await page.getByRole("link", { name: "Queue", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Queue" }).waitFor();
  const secret = admin.split("_")[2];
  for (const address of [...page.record.urls, page.url()]) assert.ok(!address.includes(secret), address);
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage) + document.cookie)).includes(secret));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await close(page);
});

test("login: a page that is opened while the broker does not answer learns later whose it is", async () => {
  const page = await open("#/sites", { token: "" });
  let asked = 0;
  await page.route("**/v1/whoami", (route) => (asked++ < 2 ? route.fulfill({ status: 503 }) : route.continue()));
  await page.evaluate((text) => sessionStorage.setItem("heliostat.token", text), user);
  await page.reload();
  await page.getByText("demo · user").waitFor();
  assert.ok(asked > 2);
  await close(page);
});

test("login: a token that is revoked under an open page leads to the sign-in, with the reason", async () => {
  const page = await open("#/sites", { token: leaver });
  await rows(page, "Sites").first().waitFor();
  await api("DELETE", `tokens/${leaverId}`);
  await page.getByRole("alert").filter({ hasText: "no longer accepts this token" }).waitFor();
  await page.getByLabel("Token").waitFor();
  await close(page);
});

// ---- transfer

test("transfer: the first paint takes less than 100 KB, and nothing comes from elsewhere", async () => {
  const page = await open("", { token: "" });
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.evaluate((text) => sessionStorage.setItem("heliostat.token", text), admin);
  await page.reload();
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  await page.locator(".land").waitFor({ state: "attached" });
  assert.ok(bytes > 20000 && bytes < 100000, `${bytes} bytes`);
  for (const address of page.record.urls) assert.ok(address.startsWith(`${url}/`), address);
  await close(page);
});

test("transfer: a second visit loads no file again", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  const status = new Map();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.responseReceivedExtraInfo", ({ statusCode, requestId }) => status.set(requestId, statusCode));
  const names = new Map();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => names.set(requestId, request.url));
  await page.reload();
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  const files = [...names].filter(([, address]) => /\/console\/\w+\.(js|css)$/.test(address));
  assert.ok(files.length >= 2);
  for (const [id, address] of files) assert.equal(status.get(id), 304, address);
  await close(page);
});

// ---- map

test("map: every site has a number beside its colour, and the table says the same", async () => {
  const page = await open("#/map");
  await rows(page, "Sites").nth(5).waitFor();
  const sites = await api("GET", "sites");
  for (const { site, carbon_g_per_kwh: grams } of sites) {
    const mark = page.getByRole("link", {
      name: new RegExp(`^${site} ${Math.round(grams)} g/kWh, \\d+ of \\d+ GPUs free`),
    });
    assert.equal(await mark.locator(".grams").textContent(), String(Math.round(grams)));
    assert.match(await mark.locator(".disc").getAttribute("fill"), /^rgb\(/);
  }
  const carbon = await cells(page, "Sites", "Carbon");
  const expected = sites.map(({ carbon_g_per_kwh: grams }) => Math.round(grams)).sort((a, b) => a - b);
  assert.deepEqual(
    carbon.map((text) => parseInt(text, 10)),
    expected,
  );
  await close(page);
});

test("map: labels of neighbours do not cover each other", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  const boxes = await page.locator(".map .site text").evaluateAll((texts) =>
    texts.map((text) => {
      const { x, y, width, height } = text.getBBox();
      return { name: text.textContent, x, y, right: x + width, bottom: y + height };
    }),
  );
  assert.equal(boxes.length, 6);
  for (const a of boxes)
    for (const b of boxes) {
      const apart = a === b || a.right <= b.x || b.right <= a.x || a.bottom <= b.y + 2 || b.bottom <= a.y + 2;
      assert.ok(apart, `${a.name} covers ${b.name}`);
    }
  await close(page);
});

test("map: on a phone it begins where most sites are, and the slider stays in view", async () => {
  const page = await open("#/map", { width: 360, height: 740 });
  const paris = page.getByRole("link", { name: /^paris \d/ });
  await paris.waitFor();
  const seen = (locator) => locator.evaluate((node) => node.getBoundingClientRect().left >= 0 && node.getBoundingClientRect().right <= innerWidth);
  await until("paris", () => seen(paris));
  assert.ok(await seen(page.getByRole("slider")));
  await page.setViewportSize({ width: 1280, height: 740 }); // the whole world is shown; then it is not
  await page.setViewportSize({ width: 360, height: 740 });
  await until("paris, after a turn", () => seen(paris));
  await close(page);
});

test("map: headings sort the table, by keyboard too", async () => {
  const page = await open("#/map");
  await rows(page, "Sites").nth(5).waitFor();
  const names = () => cells(page, "Sites", "Site");
  await page.getByRole("button", { name: "Site", exact: true }).focus();
  await page.keyboard.press("Enter");
  const up = await names();
  assert.deepEqual(up, [...up].sort());
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "ascending");
  await page.keyboard.press("Enter");
  assert.deepEqual(await names(), up.reverse());
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
  await close(page);
});

test("map: a job that leaves home draws an arc, and its site's ring fills, without a reload", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^virginia \d.* 8 of 8 GPUs free/ }).waitFor();
  const before = await page.locator(".arcs path").count();
  const id = await submit(long("traveller", { home: "brisbane", gpu: "H100:8", placement: { sites: ["virginia"] } }));
  await page.getByRole("link", { name: /^virginia \d.* 0 of 8 GPUs free, 1 job running/ }).waitFor();
  await until("an arc", async () => (await page.locator(".arcs path").count()) > before);
  await shot(page, "map-arc");
  await api("DELETE", `jobs/${id}`);
  await page.getByRole("link", { name: /^virginia \d.* 8 of 8 GPUs free/ }).waitFor();
  await close(page);
});

test("map: arcs do not move for those who want no motion", async () => {
  for (const [motion, name] of [
    ["reduce", "none"],
    ["no-preference", "flow"],
  ]) {
    const page = await open("#/map", { motion });
    await page.locator(".arcs path").first().waitFor({ state: "attached" });
    assert.equal(
      await page
        .locator(".arcs path")
        .first()
        .evaluate((path) => getComputedStyle(path).animationName),
      name,
    );
    await close(page);
  }
});

// ---- sites

test("site: its figures, its pools and the forecast that it sent", async () => {
  const page = await open("#/sites/frankfurt");
  await page.locator(".plot canvas").first().waitFor();
  const [{ points }] = (await api("GET", "sites/frankfurt/forecast")).filter(
    ({ signal }) => signal === "carbon_g_per_kwh",
  );
  const section = page.locator(".series").filter({ hasText: "Carbon intensity" });
  await section.getByText("Numbers").click();
  const shown = await cells(page, "Carbon intensity, g/kWh", "Expected");
  assert.deepEqual(
    shown.map(Number),
    points.map(({ value }) => Math.round(value)),
  );
  const lowest = Math.min(...points.map(({ value }) => value));
  await section
    .getByText(`Lowest ${Math.round(lowest)} g/kWh`)
    .first()
    .waitFor();
  assert.deepEqual(await cells(page, "Pools of frankfurt", "Pool"), ["h100"]);
  await close(page);
});

test("site: its forecast is left behind without a complaint", async () => {
  const page = await open("#/sites/frankfurt");
  await page.locator(".plot canvas").first().waitFor();
  await page.evaluate(() => (location.hash = "#/queue"));
  await page.getByRole("heading", { level: 1, name: "Queue" }).waitFor();
  // An observer that outlived the plot would have spoken by the end of the second frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await close(page);
});

test("site: an operator drains it with a reason, and sees it; a user cannot", async () => {
  const page = await open("#/sites/amsterdam");
  await page.getByRole("button", { name: "Drain" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("new switch");
  await shot(page, "drain-dialog");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
  await page.getByText("It drains: new switch. It gets no new work.").waitFor();
  assert.equal((await api("GET", "sites")).find(({ site }) => site === "amsterdam").draining, true);
  const other = await open("#/sites/amsterdam", { token: user });
  await other.getByText("It drains: new switch").waitFor();
  assert.equal(await other.getByRole("button", { name: /drain/i }).count(), 0);
  await close(other);
  await page.getByRole("button", { name: "Undrain" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undrain" }).click();
  await page.getByRole("button", { name: "Drain", exact: true }).waitFor();
  await close(page);
});

test("site: a name that no site has says so", async () => {
  const page = await open("#/sites/atlantis");
  await page.getByText("No site is named atlantis.").waitFor();
  await close(page);
});

test("site: one that goes silent is shown so, and comes back", async () => {
  const page = await open("#/sites");
  await rows(page, "Sites").nth(5).waitFor();
  const line = rows(page, "Sites").filter({ hasText: "brisbane" });
  await line.getByText("silent").waitFor({ timeout: 60000 });
  await control("start", "brisbane");
  await line.getByText("ready").waitFor({ timeout: 60000 });
  await close(page);
});

// ---- queue

test("queue: it says in the broker's words why each job waits", async () => {
  await until("a reason", async () => (await api("GET", `jobs/${waiting}`)).reason);
  const page = await open("#/queue?view=waiting");
  const line = rows(page, "Jobs").filter({ has: page.getByRole("link", { name: waiting.slice(-8) }) }); // another one waits for it
  await line.waitFor();
  const { detail, reason } = await until("its row", async () => {
    const job = await api("GET", `jobs/${waiting}`);
    return (await line.locator("td.rest").innerText()) === (job.detail ?? job.reason) && job;
  });
  assert.ok(detail || reason);
  await close(page);
});

test("queue: filters narrow it by reason, queue and name, and stay in the address", async () => {
  const page = await open("#/queue");
  await rows(page, "Jobs").filter({ hasText: "steady" }).waitFor();
  await page.getByRole("combobox", { name: /^Queue/ }).selectOption("batch");
  await rows(page, "Jobs").filter({ hasText: "patient-too" }).waitFor();
  await rows(page, "Jobs").filter({ hasText: "steady" }).waitFor({ state: "detached" });
  assert.ok((await cells(page, "Jobs", "Queue")).every((text) => text === "batch"));
  const chip = page.getByRole("list", { name: "Reasons of waiting jobs" }).getByRole("button").first();
  const [, reason, count] = /^(\S+) (\d+)$/.exec(await chip.innerText());
  await chip.click();
  assert.equal(await chip.getAttribute("aria-pressed"), "true");
  await until("the filter", async () => (await rows(page, "Jobs").count()) === Number(count));
  assert.match(page.url(), new RegExp(`queue=batch.*reason=${reason}`));
  await page.reload();
  await until("the filter after a reload", async () => (await rows(page, "Jobs").count()) === Number(count));
  await page.getByRole("combobox", { name: /^Queue/ }).selectOption("");
  await page.getByRole("searchbox", { name: "Name" }).fill("steady");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Cancel the 0 jobs/ }).waitFor(); // the reason still counts
  await close(page);
});

test("queue: a name that is being typed is still there after an event", async () => {
  const page = await open("#/queue");
  await rows(page, "Jobs").filter({ hasText: "patient-too" }).waitFor();
  await page.getByRole("searchbox", { name: "Name" }).pressSequentially("half a na");
  const id = await submit(long("in-between"));
  await rows(page, "Jobs").filter({ hasText: "in-between" }).waitFor();
  assert.equal(await page.getByRole("searchbox", { name: "Name" }).inputValue(), "half a na");
  await api("DELETE", `jobs/${id}`);
  await close(page);
});

test("queue: what is shown is cancelled together, after a question", async () => {
  for (let i = 0; i < 3; i++) await submit(long("doomed", { queue: "preemptible", gpu: "H100:8" }));
  const page = await open("#/queue?name=doomed");
  await page.getByRole("button", { name: "Cancel the 3 jobs shown" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep as it is" }).click();
  assert.equal((await api("GET", "jobs?name=doomed&state=cancelled")).jobs.length, 0);
  await page.getByRole("button", { name: "Cancel the 3 jobs shown" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel jobs" }).click();
  await page.getByText("No job is in one of these states.").waitFor();
  await until("all cancelled", async () => (await api("GET", "jobs?name=doomed&state=cancelled")).jobs.length === 3);
  await close(page);
});

test("queue: a job that is submitted appears without a reload", async () => {
  const page = await open("#/queue?name=newcomer");
  await page.getByText("No job is in one of these states.").waitFor();
  const id = await submit(long("newcomer"));
  await rows(page, "Jobs").filter({ hasText: "newcomer" }).locator(".state").getByText("running").waitFor();
  await api("DELETE", `jobs/${id}`);
  await page.getByText("No job is in one of these states.").waitFor();
  await close(page);
});

// ---- job

test("job: timeline, candidates and their terms, the plan, and the log as it grows", async () => {
  const page = await open(`#/jobs/${running}`);
  await page.getByRole("heading", { level: 1, name: "steady" }).waitFor();
  const log = page.getByRole("region", { name: "Log" });
  await log.getByText(/step 3$/m).waitFor();
  const lines = (await log.innerText()).split("\n").length;
  await until("more lines", async () => (await log.innerText()).split("\n").length > lines + 2);
  assert.match(
    await page.getByRole("img", { name: /^queued .*running / }).getAttribute("aria-label"),
    /offered .*accepted .*running/,
  );
  const explanation = await api("GET", `jobs/${running}/explain`);
  assert.equal((await cells(page, "Candidates", "Site")).length, explanation.candidates.length);
  const chosen = rows(page, "Candidates").filter({ hasText: "chosen" });
  assert.match(await chosen.innerText(), new RegExp(`^${explanation.chosen} ${explanation.chosen_pool}`));
  assert.match(await chosen.getByRole("img").getAttribute("aria-label"), /Money \$/);
  await page.getByText(/planned \$/).waitFor();
  await close(page);
});

test("job: its life by keyboard alone: found, read, cancelled", async () => {
  const id = await submit(long("by-keyboard"));
  await reaches(id, "running");
  const page = await open("#/map");
  await rows(page, "Sites").first().waitFor();
  const goTo = async (name) => {
    for (let i = 0; i < 200; i++) {
      await page.keyboard.press("Tab");
      const focused = () =>
        document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim();
      if (name.test(await page.evaluate(focused))) return;
    }
    assert.fail(`Tab does not reach ${name}`);
  };
  await page.evaluate(() => document.body.focus());
  await goTo(/^Queue$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Queue" }).waitFor();
  await rows(page, "Jobs").filter({ hasText: "by-keyboard" }).waitFor();
  await goTo(/^by-keyboard/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "by-keyboard" }).waitFor();
  await page.getByRole("button", { name: "Cancel job" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await goTo(/^Cancel job$/);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await stateOf(id), "running");
  await goTo(/^Cancel job$/);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await goTo(/^Cancel job$/);
  await page.keyboard.press("Enter");
  await page.locator(".heading").getByText("cancelled").waitFor();
  assert.equal(await stateOf(id), "cancelled");
  await close(page);
});

test("job: one that another tenant has, or nobody, is a sentence and no blank page", async () => {
  const page = await open("#/jobs/01m840a6fse0081n3dy5g4p53f");
  await page.getByRole("alert").filter({ hasText: /Job: / }).waitFor();
  await close(page);
});

// ---- a broker that goes away

test("stream: the page says that the broker is gone, and is right again when it is back", async () => {
  const page = await open("#/queue?name=after-the-gap");
  await page.locator(".stream").getByText("live").waitFor();
  await page.getByText("No job is in one of these states.").waitFor();
  await control("kill", "broker");
  await page.locator(".stream").getByText("no connection, trying again").waitFor();
  await shot(page, "broker-gone");
  await control("start", "broker");
  const id = await until("the broker", () => submit(long("after-the-gap")).catch(() => null));
  await page.locator(".stream").getByText("live").waitFor();
  await rows(page, "Jobs").filter({ hasText: "after-the-gap" }).waitFor();
  await api("DELETE", `jobs/${id}`);
  await close(page);
});

// ---- for everybody

const places = () => [
  ["login", "", ""],
  ["map", "#/map"],
  ["sites", "#/sites"],
  ["site", "#/sites/paris"],
  ["queue", "#/queue?queue=batch"],
  ["job", `#/jobs/${running}`],
];
const settled = async (page, name) => {
  if (name === "login") return page.getByLabel("Token").waitFor();
  await page.locator(".stream").getByText("live").waitFor();
  if (name === "site") await page.locator(".plot canvas").first().waitFor();
  if (name === "job") await rows(page, "Candidates").first().waitFor();
  return page.locator("tbody tr").first().waitFor();
};

const names = ["login", "map", "sites", "site", "queue", "job"];
for (const wanted of names)
  test(`everybody: ${wanted}: axe finds nothing in either theme, and it is no wider than a phone`, async () => {
    const [name, place, token] = places().find(([each]) => each === wanted);
    const page = await open(place, { token });
    await settled(page, name);
    await forEverybody(page, name);
    await close(page);
  });

test("everybody: a theme that is chosen stays, and the first link skips to the content", async () => {
  const page = await open("#/sites");
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Use the light theme" }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await rows(page, "Sites").first().waitFor();
  assert.equal(await page.evaluate(() => document.querySelector("a, button, [tabindex]").className), "skip");
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await close(page);
});
