// Cases of tests/console/pages.py: what operators do and look at. Curtailments, the order of the queue, what jobs want of their placement, what came
// beside what had been expected.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { instant, money, number, power } from "../../console/src/format.js";
import { offBy } from "../../console/src/series.js";
import { api, cells, close, closeBrowser, forEverybody, open, openBrowser, rows, shot, submit, until, user, violations } from "./browser.mjs";

before(openBrowser);
after(closeBrowser);

const never = "2099-01-01T00:00:00Z";
const curtailments = (site) => api("GET", `curtailments?site=${site}`);
// A table shows all of its columns without being moved.
const assertWhole = async (table) => {
  const [inner, whole] = await table.evaluate((box) => [box.clientWidth, box.scrollWidth]);
  assert.ok(whole <= inner, `${whole} > ${inner}`);
};
const inDialog = (page) => page.getByRole("dialog");

// ---- curtailments

test("curtail: an operator orders it on the site's page, everybody sees it, and it is ended there", async () => {
  const page = await open("#/sites/amsterdam");
  await page.getByRole("button", { name: "Curtail …" }).click();
  await inDialog(page).getByLabel("To, %").fill("50");
  await inDialog(page).getByLabel("For, hours").fill("1.5");
  await inDialog(page).getByLabel("Reason").fill("the grid asks");
  await shot(page, "curtail-dialog");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "amsterdam: curtailed to 50 % of its GPU power" }).waitFor();
  const [ordered] = await curtailments("amsterdam");
  assert.deepEqual([ordered.to_percent, ordered.state, ordered.reason], [50, "in_force", "the grid asks"]);
  assert.equal(Date.parse(ordered.until) - Date.parse(ordered.from), 5400000);
  await page.getByText(`It is curtailed to 50 % of its GPU power until ${instant(ordered.until)}.`).waitFor();
  const limit = `${power(ordered.limit_watts)} of ${power(ordered.full_watts)}`;
  await rows(page, "Curtailments of amsterdam").filter({ hasText: limit }).filter({ hasText: "in force" }).waitFor();
  await forEverybody(page, "curtailed");
  await page.setViewportSize({ width: 1280, height: 900 });

  const other = await open("#/sites/amsterdam", { token: user });
  await other.getByText("It is curtailed to 50 % of its GPU power").waitFor();
  assert.equal(await other.getByRole("button", { name: /curtail/i }).count(), 0);
  assert.ok(!other.record.urls.some((address) => address.includes("/v1/curtailments"))); // the list is for operators
  await other.evaluate(() => (location.hash = "#/map"));
  await other.getByRole("link", { name: /^amsterdam \d.*, curtailed to 50 %$/ }).waitFor();
  assert.equal(await other.locator(".site .limit").count(), 1);
  await other.getByText("curtailed: the share of its GPU power that a site may use").waitFor();
  await rows(other, "Sites").filter({ hasText: "curtailed to 50 %" }).waitFor();
  await shot(other, "map-curtailed");
  await close(other);

  await page.getByRole("button", { name: "End curtailments" }).click();
  await inDialog(page).getByLabel("Reason").fill("over");
  await page.keyboard.press("Enter");
  await rows(page, "Curtailments of amsterdam").filter({ hasText: "ended early" }).waitFor();
  await page.getByRole("button", { name: "End curtailments" }).waitFor({ state: "detached" });
  await until("the end", async () => (await api("GET", "sites")).find(({ site }) => site === "amsterdam").curtailed_to_percent === null);
  await close(page);
});

test("curtail: one for tomorrow begins at the hour that was typed, in UTC, and is in the list of all sites", async () => {
  const day = new Date(Date.now() + 86400000).toISOString().slice(0, 10);
  const page = await open("#/sites/virginia");
  await page.getByRole("button", { name: "Curtail …" }).click();
  await inDialog(page).getByLabel("From, UTC").fill(`${day}T17:00`);
  await inDialog(page).getByLabel("Reason").fill("evening peak");
  await inDialog(page).getByRole("button", { name: "Curtail", exact: true }).click();
  await page.getByRole("status").filter({ hasText: "virginia: curtailed to 60 %" }).waitFor();
  assert.equal((await curtailments("virginia"))[0].from, `${day}T17:00:00.000Z`);
  await page.getByRole("link", { name: "Sites", exact: true }).click();
  const list = page.getByRole("region", { name: "Curtailments", exact: true });
  await list.getByText("scheduled").waitFor();
  assert.equal((await cells(page, "Curtailments", "Site"))[0], "virginia"); // what is to come stands before what is over
  const paris = rows(page, "Curtailments").filter({ hasText: "paris" });
  assert.match(await paris.innerText(), /over.*70 %.*3\.50 kW of 5\.00 kW.*1, 15m.*evening peak/s);
  await assertWhole(list);
  assert.deepEqual(await violations(page), []);
  await shot(page, "sites-curtailments");
  await close(page);
  await api("POST", "sites/virginia/uncurtail", { reason: "done" });
});

test("curtail: a command that is refused says why", async () => {
  const page = await open("#/sites/virginia");
  await page.getByRole("button", { name: "Curtail …" }).click();
  await inDialog(page).getByLabel("From, UTC").fill("2099-01-01T00:00");
  await inDialog(page).getByLabel("Reason").fill("too far");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: /^Curtail: / }).waitFor();
  await close(page);
});

test("curtail: the map of hours ago shows it, and the site's page says when it was", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  const { times, sites } = await api("GET", "history", undefined, user);
  const { curtailed_to_percent: percent } = sites.find(({ site }) => site === "paris");
  const [first, last] = [percent.indexOf(70), percent.lastIndexOf(70)];
  assert.equal(last - first, 15); // four hours
  assert.equal(percent.filter((each) => each !== null).length, 16);
  const slider = page.getByRole("slider");
  await slider.focus();
  await page.locator(".scrubber output").waitFor();
  await slider.fill(String(first + 2));
  await page.getByRole("link", { name: /^paris \d.*, curtailed to 70 %$/ }).waitFor();
  await page.evaluate(() => (location.hash = "#/sites/paris"));
  await page.getByText(`It was curtailed to 70 % from ${instant(times[first])} to ${instant(times[last + 1])}.`).waitFor();
  await close(page);
});

// ---- sites

test("site: what came stands beside what had been expected of these hours", async () => {
  const page = await open("#/sites/frankfurt");
  const series = (await api("GET", "sites/frankfurt/forecast", undefined, user)).find(({ signal }) => signal === "carbon_g_per_kwh");
  const { times, sites } = await api("GET", "history?site=frankfurt", undefined, user);
  assert.ok(series.earlier.points.length >= 24);
  const past = sites[0].carbon_g_per_kwh.map((value, i) => ({ time: times[i], value }));
  const section = page.locator(".series").filter({ hasText: "Carbon intensity" });
  await section.getByText(`was expected of them at ${instant(series.earlier.issued_at)}`).waitFor();
  await section.getByText(`What came was off what had been expected by ${number(offBy(past, series.earlier.points))} g/kWh on average.`).waitFor();
  const box = await section.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.02, box.y + box.height / 2);
  await section.getByText(/Z: came \d+ g\/kWh, had been expected \d+ g\/kWh$/).waitFor();
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2);
  await section.getByText(/Z: expected \d+ g\/kWh$/).waitFor();
  await shot(page, "site-expected");
  await close(page);
});

// ---- queue

test("queue: jobs stand in the order in which they are considered", async () => {
  const later = { cpus: 1, time: "1h", run: "true", name: "ordered", placement: { not_before: never } };
  const ids = {};
  for (const [key, queue] of [["cheap", "preemptible"], ["nightly", "batch"], ["first", "standard"], ["second", "standard"], ["urgent", "express"]])
    ids[key] = await submit({ ...later, queue });
  await api("PATCH", `jobs/${ids.second}`, { priority: 5 });
  const page = await open("#/queue?name=ordered");
  await rows(page, "Jobs").nth(4).waitFor();
  await until("all of them, and the edit", async () => {
    const shown = (await cells(page, "Jobs", "Job")).map((text) => text.split(/\s+/)[1]);
    return shown.join() === ["urgent", "second", "first", "nightly", "cheap"].map((key) => ids[key].slice(-8)).join();
  });
  await page.getByText("the page of a job says which jobs are ahead of it").waitFor();
  assert.deepEqual([...new Set(await cells(page, "Jobs", "Place"))], ["–"]); // they wait for a time, and not for room
  for (const id of Object.values(ids)) await api("DELETE", `jobs/${id}`);
  await close(page);
});

test("queue: jobs that wait for room have the broker's places, and who is next is said with why", async () => {
  const whole = { name: "roomless", gpu: "H100:8", nodes: 2, cpus: 1, queue: "batch", time: "1h", run: "sleep 600", placement: { sites: ["frankfurt"] } };
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push(await submit(whole)); // one of them at most has the site
  let places;
  await until("places", async () => {
    const { order } = await api("GET", "order");
    places = new Map(order.flatMap(({ position, ids: of }) => of.map((id, i) => [id, position + i])));
    return places.has(ids[1]) && places.get(ids[2]) > places.get(ids[1]);
  });
  const page = await open("#/queue?name=roomless");
  await rows(page, "Jobs").nth(2).waitFor();
  await until("the places", async () => {
    const shown = (await cells(page, "Jobs", "Place")).filter((text) => text !== "–").map((text) => text.split(/\s+/)[0]);
    return shown.join() === ids.filter((id) => places.has(id)).map((id) => String(places.get(id))).join();
  });
  const { order, tenants } = await api("GET", "order");
  await page.getByText(/ of \w+ in \w+, since /).waitFor();
  assert.equal(await rows(page, "Tenants that wait for room").count(), tenants.length);
  assert.ok(order[0].position === 1 && tenants.every(({ used_a100: used, weight, used_a100_per_weight: each }) => Math.abs(each * weight - used) < 0.01));
  assert.deepEqual(await violations(page), []);
  await shot(page, "queue-order");
  for (const id of [...ids].reverse()) await api("DELETE", `jobs/${id}`);
  await until("the site is free again", async () => (await api("GET", `jobs/${ids[0]}`)).state === "cancelled");
  await close(page);
});

test("queue: what waits is edited together, an array as a whole, and what is refused says why", async () => {
  const later = { cpus: 1, time: "1h", run: "true", name: "pliable", placement: { not_before: never } };
  const ids = [await submit(later), await submit({ ...later, array: "0-2" })];
  const page = await open("#/queue?name=pliable");
  await rows(page, "Jobs").nth(3).waitFor();
  const edit = page.getByRole("button", { name: "Edit the 2 that wait …" });
  await edit.click();
  await inDialog(page).getByLabel("Priority").fill("7");
  await inDialog(page).getByLabel("Goal").selectOption("green");
  await inDialog(page).getByLabel("Flexible").fill("12h");
  assert.deepEqual(await violations(page), []);
  await shot(page, "edit-dialog");
  await inDialog(page).getByRole("button", { name: "Edit jobs" }).click();
  for (const id of [ids[0], `${ids[1]}.2`])
    await until("the edit", async () => {
      const { priority, goal, flexible_s: flexible } = await api("GET", `jobs/${id}`);
      return priority === 7 && goal === "green" && flexible === 43200;
    });
  await edit.click();
  await inDialog(page).getByLabel("Flexible").fill("soon");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: /^2 jobs could not be edited: .*flexible/ }).waitFor();
  for (const id of ids) await api("DELETE", `jobs/${id}`);
  await close(page);
});

test("queue: a long reason ends in dots inside the table, which is no wider than the page", async () => {
  const id = await submit({ name: "wordy", cpus: 1, time: "1h", run: "true", placement: { not_before: never } });
  const page = await open("#/queue");
  await page.route("**/v1/jobs?*", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    await route.fulfill({ json: { ...body, jobs: body.jobs.map((job) => ({ ...job, detail: "a reason of many words ".repeat(20) })) } });
  });
  await page.reload();
  await rows(page, "Jobs").filter({ hasText: "many words" }).first().waitFor();
  const table = page.getByRole("region", { name: "Jobs", exact: true });
  await assertWhole(table);
  await api("DELETE", `jobs/${id}`);
  await close(page);
});

// ---- job

test("job: its goal, flexible, its deadline, its limits, and how it was edited", async () => {
  const deadline = new Date(Date.now() + 5 * 86400000).toISOString().slice(0, 13) + ":00:00Z";
  const wants = { goal: "green", flexible: "12h", deadline, max_cost: "20 USD", not_before: new Date(Date.now() + 3600000).toISOString().slice(0, 19) + "Z" };
  const id = await submit({ name: "choosy", gpu: "H100:1", cpus: 1, time: "1h", run: "true", placement: wants });
  await api("PATCH", `jobs/${id}`, { goal: "balanced", flexible: "10h" });
  const page = await open(`#/jobs/${id}`);
  const fact = (term) => page.locator(".figures div").filter({ has: page.locator("dt", { hasText: new RegExp(`^${term}$`) }) });
  await fact("Goal").getByText("balanced").waitFor();
  assert.match(await fact("Flexible").innerText(), /10h until .*Z/);
  assert.match(await fact("Deadline").innerText(), new RegExp(`${instant(deadline)} in 4d`));
  assert.match(await fact("May cost").innerText(), /\$20\.00 at most/);
  await rows(page, "History").filter({ hasText: "edited goal: green → balanced; edited flexible: 12h → 10h" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, "job-wishes");
  await api("DELETE", `jobs/${id}`);
  await close(page);
});

test("job: the terms of its candidates as numbers make their scores, and no reason is cut", async () => {
  const id = await submit({ name: "judged", gpu: "H100:8", cpus: 1, time: "1h", run: "sleep 600", placement: { sites: ["paris", "lulea"] } });
  const { candidates } = await until("its decision", async () => {
    const found = await api("GET", `jobs/${id}/explain`);
    return found.chosen && found;
  });
  const page = await open(`#/jobs/${id}`);
  await page.getByText("Terms as numbers").click();
  const priced = candidates.filter(({ score_usd: score, reason }) => score !== null && !reason);
  assert.equal((await cells(page, "Terms", "Site")).length, priced.length);
  const best = priced.reduce((a, b) => (b.score_usd < a.score_usd ? b : a));
  assert.equal((await cells(page, "Terms", "Score"))[0], money(best.score_usd));
  assert.equal((await cells(page, "Terms", "Carbon"))[0], money(best.terms.carbon));
  const table = page.getByRole("region", { name: "Candidates", exact: true });
  await assertWhole(table);
  const cut = await table.locator("td.wraps").evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
  assert.equal(cut, 0);
  await api("DELETE", `jobs/${id}`);
  await close(page);
});
