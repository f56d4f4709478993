// The second half of the cases of tests/console/pages.py: savings, teams, what if, the time of the map, attempts. What they show is
// what the views of helio_report, the API and the command line say.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { carbon, energy, instant, money, number } from "../../console/src/format.js";
import { admin, api, cells, close, closeBrowser, forEverybody, helio, open, openBrowser, reaches } from "./browser.mjs";
import { picture, pictures, rows, shot, sql, submit, until, url, user, violations } from "./browser.mjs";

let ended; // a job that ran away from home

before(async () => {
  await openBrowser();
  const away = { home: "frankfurt", gpu: "H100:2", cpus: 1, time: "10m" };
  ended = await submit({ name: "ended", run: "sleep 1", ...away });
  await reaches(ended, "succeeded");
});
after(closeBrowser);

const since = "time >= date_trunc('day', now(), 'UTC') - interval '29 days'";
const said = (value, text) => (value < 0 ? `${text(-value)} more` : `${text(value)} less`);
const against = (page, title) => page.getByRole("region", { name: `Against ${title}`, exact: true });
const focused = (page) => page.evaluate(() => document.activeElement.value ?? document.activeElement.textContent);

// ---- savings

test("savings: against both baselines, as the view, the report and the command line have it", async () => {
  const page = await open("#/savings");
  const sums = sql(`select baseline, sum(carbon_g_saved), sum(used_carbon_g), sum(baseline_carbon_g), sum(jobs)
    from helio_report.savings_daily where ${since} and carbon_kind = 'average lifecycle' group by baseline order by baseline`);
  assert.equal(sums.length, 2);
  const lines = helio("report", "--days", "30").baselines;
  for (const [baseline, saved, used, would, jobs] of sums) {
    const title = baseline === "home" ? "home" : "least wait";
    const text = await against(page, title).innerText();
    assert.ok(text.includes(said(Number(saved), carbon)), `${text}: not ${saved}`);
    assert.ok(text.includes(`${carbon(Number(used))} instead of ${carbon(Number(would))}, in ${number(Number(jobs))} jobs`), text);
    const own = lines.filter((line) => line.baseline === baseline && line.carbon_kind === "average lifecycle");
    assert.ok(Math.abs(own.reduce((sum, line) => sum + line.saved_carbon_g, 0) - Number(saved)) < 1e-3);
  }
  await page.getByText("Numbers by day, team").click();
  assert.equal((await cells(page, "Savings by day and team", "Day")).length, lines.length > 120 ? 60 : lines.length);
  assert.equal(await page.locator(".plot canvas").count(), 2);
  await close(page);
});

test("savings: quantity, days and baseline are chosen by keyboard, and stay in the address", async () => {
  const page = await open("#/savings");
  await against(page, "home").waitFor();
  await page.getByRole("radio", { name: "CO₂e" }).focus();
  await page.keyboard.press("ArrowRight");
  await until("cost", async () => page.url().endsWith("of=cost"));
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowRight");
  await until("all three", async () => /of=cost&days=7&baseline=least-wait/.test(page.url()));
  assert.equal(await focused(page), "least-wait");
  await page.reload();
  await against(page, "home").waitFor();
  const [[saved]] = sql(`select sum(cost_usd_saved) from helio_report.savings_daily where baseline = 'least-wait'
    and time >= date_trunc('day', now(), 'UTC') - interval '6 days'`);
  await against(page, "least wait").getByText(said(Number(saved), money)).waitFor();
  const teams = await page.locator(".teams-saved li > b").allInnerTexts();
  const expected = sql(`select tenant from helio_report.savings_daily where baseline = 'least-wait'
    and time >= date_trunc('day', now(), 'UTC') - interval '6 days' group by tenant order by sum(cost_usd_saved) desc, tenant`);
  assert.deepEqual(teams, expected.flat());
  await close(page);
});

test("savings: grams of two kinds of intensity are not added, and what is estimated is said", async () => {
  const page = await open("#/savings");
  await page.getByRole("radio", { name: "marginal" }).check();
  const [[saved]] = sql(`select sum(carbon_g_saved) from helio_report.savings_daily where ${since} and carbon_kind = 'marginal'`);
  await against(page, "home").getByText(said(Number(saved), carbon)).waitFor();
  await against(page, "least wait").getByText("Nothing to compare yet.").waitFor();
  await page.getByRole("radio", { name: "average lifecycle" }).check();
  const [[estimated, jobs]] = sql(`select sum(jobs_estimated), sum(jobs) from helio_report.savings_daily where ${since}
    and baseline = 'least-wait' and carbon_kind = 'average lifecycle'`);
  await page.getByText(`${estimated} jobs of ${jobs} have an estimated figure.`).waitFor();
  await close(page);
});

test("savings: the days of one team, by keyboard, and what its energy rests on", async () => {
  const page = await open("#/savings");
  await page.getByRole("button", { name: "robotics" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Team: robotics").waitFor();
  await until("the team in the address", async () => page.url().endsWith("team=robotics"));
  const [[saved, jobs]] = sql(`select sum(carbon_g_saved), sum(jobs) from helio_report.savings_daily where ${since} and tenant = 'robotics'
    and baseline = 'home' and carbon_kind = 'average lifecycle'`);
  const text = await against(page, "home").innerText();
  assert.ok(text.includes(said(Number(saved), carbon)) && text.includes(`in ${jobs} jobs`), text);
  assert.equal(await page.locator(".teams-saved li").count(), 3); // the others are still there to compare with
  const [[measured, guessed]] = sql(`select 100 * sum(measured_ratio * energy_kwh) / sum(energy_kwh),
    100 * sum(carbon_estimated_ratio * energy_kwh) / sum(energy_kwh) from helio_report.usage_daily where ${since} and tenant = 'robotics'`);
  const percent = (text) => `${Math.round(Number(text))} %`;
  assert.ok(Number(measured) > 1 && Number(guessed) > 1, `${measured} ${guessed}`);
  await page.getByText(`Of the energy used in these days ${percent(measured)} was measured, the rest is by the model of power.`).waitFor();
  await page.getByText(`Of that energy ${percent(guessed)} has an estimated intensity.`).waitFor();
  await page.getByRole("button", { name: "Back to all teams" }).click();
  await page.getByText("Team: robotics").waitFor({ state: "detached" });
  await close(page);
});

test("savings: a user sees its own team alone", async () => {
  const page = await open("#/savings?of=energy", { token: user });
  await against(page, "home").waitFor();
  assert.deepEqual(await page.locator(".teams-saved li > b").allInnerTexts(), ["demo"]);
  const [[saved]] = sql(`select sum(energy_kwh_saved) from helio_report.savings_daily where ${since} and tenant = 'demo' and baseline = 'home'`);
  await against(page, "home").getByText(said(Number(saved), energy)).waitFor();
  assert.ok(!(await page.locator("main").innerText()).includes("robotics"));
  await close(page);
});

// ---- teams

test("teams: what each holds of its quota, its share and its budgets, as the API and the view have them", async () => {
  const page = await open("#/teams");
  const quotas = await api("GET", "quotas");
  for (const { tenant, queue, guaranteed_gpus: guaranteed, burst_gpus: burst, gpus_in_use: used } of quotas) {
    const card = page.getByRole("region", { name: tenant, exact: true });
    const most = burst === null ? "no limit" : `at most ${burst}`;
    const measure = card.locator(".measure").filter({ hasText: queue ? `Queue ${queue}` : "GPUs" }).first();
    const text = (await measure.innerText()).replace(/\s+/g, " ");
    assert.ok(text.includes(`${used} in use ${guaranteed ? `${guaranteed} guaranteed` : "nothing guaranteed"}, ${most}`), text);
  }
  for (const [tenant, unit, budget, used] of sql("select tenant, unit, budget, used from helio_report.budgets where tenant <> '*'")) {
    const text = await page.getByRole("region", { name: tenant, exact: true }).innerText();
    const amount = (value) => (unit === "USD" ? money(Number(value)) : number(Number(value), Math.abs(value) < 10 ? 2 : 0));
    assert.ok(text.includes(amount(used)) && text.includes(amount(budget)), `${tenant} ${unit} ${used} of ${budget}: ${text}`);
  }
  const day = quotas.filter(({ queue }) => queue === null).map(({ tenant, gpu_hours_day: hours }) => ({ tenant, hours }));
  const whole = day.reduce((sum, { hours }) => sum + hours, 0);
  for (const { tenant, hours } of day.filter(({ hours }) => hours > 0))
    await page.getByRole("region", { name: tenant, exact: true }).getByText(`${Math.round((100 * hours) / whole)} % of the GPU hours`).waitFor();
  await close(page);
});

test("teams: a budget that is spent says by how much, and a user sees its own team alone", async () => {
  const all = await open("#/teams");
  const [[over]] = sql("select -remaining from helio_report.budgets where tenant = 'robotics' and unit = 'kg CO2e'");
  assert.ok(Number(over) > 0);
  const spent = all.getByRole("region", { name: "robotics", exact: true });
  await spent.getByText(`${number(Number(over), over < 10 ? 2 : 0)} kg CO₂e over`).waitFor();
  await close(all);
  const page = await open("#/teams", { token: user });
  const card = page.getByRole("region", { name: "demo", exact: true });
  await card.getByText("of $5,000").waitFor();
  assert.equal(await page.locator(".team").count(), 1);
  assert.equal(await card.getByText("of the GPU hours").count(), 0); // a share of all needs the others' figures
  await close(page);
});

// ---- what if

const doc = "name: what-if\ngpu: H100:8\ntime: 4h\nrun: true\n";
const plan = async (carbonPrice, wait) =>
  (
    await fetch(`${url}/v1/plans?carbon=${carbonPrice}&wait=${wait}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${admin}`, "Content-Type": "application/yaml" },
      body: doc,
    })
  ).json();
const answer = (page, name) => page.getByRole("region", { name, exact: true });

test("what if: the sliders plan the job file at other prices, by keyboard too", async () => {
  const page = await open("#/whatif");
  await page.getByLabel("Job file").fill(doc);
  await page.keyboard.press("Control+Enter");
  await answer(page, "With its goal, balanced").getByText("200 USD/t, 0.5 USD/GPU h").waitFor();
  await page.getByRole("slider", { name: /^Carbon/ }).focus();
  await page.keyboard.press("Home");
  await until("the price", async () => /carbon=0&wait=0.5/.test(page.url()));
  const free = await plan(0, 0.5);
  await answer(page, "Then").getByText("0 USD/t, 0.5 USD/GPU h").waitFor();
  const of = ({ candidates, chosen, chosen_pool: pool }) => candidates.find((c) => c.site === chosen && c.pool === pool);
  await answer(page, "Then").getByText(`${money(of(free).cost_usd)} · `).waitFor();
  await page.keyboard.press("End");
  await until("the dearest", async () => /carbon=5000/.test(page.url()));
  const dear = await plan(5000, 0.5);
  await answer(page, "Then").getByRole("link", { name: dear.chosen }).waitFor();
  const scores = dear.candidates.map(({ score_usd: score }) => score).sort((a, b) => a - b);
  await until("its scores", async () => `${await cells(page, "Candidates", "Score")}` === `${scores.map(money)}`);
  await page.getByRole("button", { name: "As the job has it" }).click();
  await answer(page, "Then").waitFor({ state: "detached" });
  await close(page);
});

const supposing = async (words) =>
  (await fetch(`${url}/v1/plans?${words}`, { method: "POST", headers: { Authorization: `Bearer ${admin}`, "Content-Type": "application/yaml" }, body: doc })).json();

test("what if: with a site drained it goes to the next best one, and the prices at which the choice turns are found", async () => {
  const page = await open("#/whatif");
  await page.getByLabel("Job file").fill(doc);
  await page.getByRole("button", { name: "Plan it" }).click();
  await answer(page, "With its goal, balanced").waitFor();
  const { candidates, chosen } = await plan(200, 0.5);
  const next = candidates.filter(({ site, reason }) => site !== chosen && !reason).sort((a, b) => a.score_usd - b.score_usd)[0];
  await page.getByLabel("Suppose of a site").selectOption(chosen);
  await answer(page, `Then, with ${chosen} drained`).getByRole("link", { name: next.site }).waitFor();
  assert.equal((await supposing(`drain=${chosen}`)).chosen, next.site);
  await rows(page, "Candidates").filter({ hasText: chosen }).getByText(/^Draining/).waitFor();
  assert.equal((await api("GET", "sites")).find(({ site }) => site === chosen).draining, false);
  await page.getByRole("button", { name: /^Try \d+ prices/ }).click();
  const turns = page.getByRole("list", { name: "Site by carbon price" });
  await turns.getByText("from 0 USD/t").waitFor();
  await page.getByRole("button", { name: /^Try \d+ prices/ }).isEnabled();
  assert.deepEqual(await violations(page), []);
  await close(page);
});

test("what if: with a site at another price, by keyboard, it goes where the broker says, and the address keeps it", async () => {
  const page = await open("#/whatif");
  await page.getByLabel("Job file").fill(doc);
  await page.keyboard.press("Control+Enter");
  await answer(page, "With its goal, balanced").waitFor();
  const { chosen } = await plan(200, 0.5);
  await page.getByLabel("Suppose of a site").selectOption(chosen);
  await page.getByRole("radio", { name: "drained" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("slider", { name: /^To 60 % of its power/ }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("slider", { name: /^Its price/ }).focus();
  await page.keyboard.press("End");
  await answer(page, `Then, with ${chosen} at 10 times its price`).waitFor();
  const dear = await supposing(`price=${chosen}:10`);
  const mine = dear.candidates.find(({ site }) => site === dear.chosen);
  await answer(page, `Then, with ${chosen} at 10 times its price`).getByText(`${money(mine.cost_usd)} · `).waitFor();
  await page.reload();
  await answer(page, `Then, with ${chosen} at 10 times its price`).getByRole("link", { name: dear.chosen }).waitFor();
  const before = (await plan(200, 0.5)).candidates.find(({ site }) => site === chosen);
  const after = dear.candidates.find(({ site }) => site === chosen);
  assert.ok(Math.abs(after.cost_usd - 10 * before.cost_usd) < 1e-5);
  await close(page);
});

test("what if: who would move if a site were drained, job by job, as the broker plans each", async () => {
  const never = { not_before: "2099-01-01T00:00:00Z" };
  const sweep = await submit({ name: "sweep", gpu: "H100:1", cpus: 1, time: "1h", array: "0-2", run: "true", placement: never });
  const pinned = await submit({ name: "pinned", gpu: "H100:1", cpus: 1, time: "1h", run: "true", placement: { ...never, sites: ["paris"] } });
  const there = await submit({ name: "resident", gpu: "H100:1", cpus: 1, time: "1h", run: "sleep 600", placement: { sites: ["lulea"] } });
  await reaches(there, "running");
  const page = await open("#/sites/lulea");
  await page.getByRole("link", { name: "What if it drained …" }).click();
  await page.getByRole("button", { name: "Judge the open jobs" }).click();
  const line = (name) => rows(page, "Who would move").filter({ hasText: name });
  const planned = async (id, words = "") => (await api("GET", `jobs/${id}/plan${words}`)).chosen;
  assert.equal(await planned(`${sweep}.0`), "lulea");
  const next = await planned(`${sweep}.0`, "?drain=lulea");
  assert.ok(next && next !== "lulea");
  await line("sweep").getByText(`${next}, `).waitFor();
  assert.match(await line("sweep").innerText(), /× 3[^]*lulea, /);
  assert.match(await line("pinned").innerText(), /paris, [^]*the same/);
  assert.match(await line("resident").innerText(), /runs at lulea[^]*runs on; started anew: nowhere/);
  await page.getByText("3 of 4 waiting jobs would go elsewhere. 1 job runs at lulea, and would run on.").waitFor();
  await forEverybody(page, "moves");
  // curtailed for two hours: what would start now goes elsewhere, and not what starts years later; what has only just begun may not be stopped yet
  await page.getByRole("radio", { name: "curtailed" }).click();
  await page.getByRole("slider", { name: /^To / }).fill("0");
  await page.getByText("with lulea curtailed to 0 % for 2 h").first().waitFor();
  await page.getByRole("button", { name: "Judge the open jobs" }).click();
  const elsewhere = await supposing("curtail=lulea:0:2h");
  assert.ok(elsewhere.chosen && elsewhere.chosen !== "lulea" && elsewhere.stops === false);
  const later = await planned(`${sweep}.0`, "?curtail=lulea:0:2h");
  await line("sweep").getByText(later === "lulea" ? "the same" : later ? `${later}, ` : "nowhere").waitFor();
  const { stops } = await api("GET", `jobs/${there}/plan?curtail=lulea:0:2h`);
  assert.match(await line("resident").innerText(), stops ? /stopped; / : /runs on; /);
  await page.getByText("helio curtail lulea --to 0% --for 2h --dry-run").waitFor();
  await forEverybody(page, "curtailed-moves");
  for (const id of [sweep, pinned, there]) await api("DELETE", `jobs/${id}`);
  await reaches(there, "cancelled");
  await close(page);
});

test("what if: a job file that is wrong says where, and what was there stays", async () => {
  const page = await open("#/whatif");
  await answer(page, "With its goal, balanced").waitFor();
  await page.getByLabel("Job file").fill("run: true\ngpus: H100\n");
  await page.getByRole("button", { name: "Plan it" }).click();
  const notice = page.getByRole("alert").filter({ hasText: "Plan:" });
  await notice.getByText("gpus: H100").waitFor();
  const problem = await fetch(`${url}/v1/plans`, {
    method: "POST", headers: { Authorization: `Bearer ${admin}`, "Content-Type": "application/yaml" }, body: "run: true\ngpus: H100\n",
  });
  const { diagnostic } = await problem.json();
  assert.match(diagnostic, /help: the key is called 'gpu'/);
  assert.equal(await notice.locator("pre").innerText(), diagnostic.trim()); // with its line and what helps, as on the command line
  await close(page);
});

test("what if: a job that exists is planned at other prices, for whoever may see it", async () => {
  const page = await open(`#/jobs/${ended}`, { token: user });
  await page.getByRole("link", { name: "What if …" }).click();
  await page.getByRole("heading", { level: 1, name: "What if" }).waitFor();
  await page.getByRole("link", { name: "ended" }).waitFor();
  await page.getByRole("slider", { name: /^Waiting/ }).focus();
  await page.keyboard.press("End");
  const there = await until("its plan", () => api("GET", `jobs/${ended}/plan?carbon=200&wait=20`));
  assert.equal(there.job.goal, null);
  await answer(page, "Then").getByRole("link", { name: there.chosen }).waitFor();
  const stranger = await open("#/whatif?job=01m840a6fse0081n3dy5g4p53f", { token: user });
  await stranger.getByRole("alert").filter({ hasText: "Plan: there is no job" }).waitFor();
  await close(stranger);
  await close(page);
});

// ---- the time of the map

test("time: the map shows the sites of hours ago, by keyboard, and reads the past only then", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  assert.ok(!page.record.urls.some((address) => address.endsWith("/v1/history")));
  const slider = page.getByRole("slider");
  assert.equal(await slider.getAttribute("aria-valuetext"), "now");
  await slider.focus();
  const history = await api("GET", "history");
  for (let i = 0; i < 24; i++) await page.keyboard.press("ArrowLeft"); // within the hours in which brisbane said nothing
  const step = history.times.length - 24;
  await page.locator(".scrubber output").getByText("ago").waitFor();
  for (const { site, carbon_g_per_kwh: grams, gpus_free: free, gpus_total: total } of history.sites.filter((s) => s.site !== "brisbane"))
    await page.getByRole("link", { name: new RegExp(`^${site} ${Math.round(grams[step])} g/kWh, ${free[step]} of ${total[step]} GPUs free`) }).waitFor();
  assert.equal(history.sites.find(({ site }) => site === "brisbane").gpus_total[step], null);
  await page.getByRole("link", { name: /^brisbane –, 0 of 0 GPUs free.*silent/ }).waitFor();
  const free = history.sites.reduce((sum, s) => sum + (s.gpus_free[step] ?? 0), 0);
  await page.getByText(`6 sites, ${free} of 48 GPUs free.`).waitFor();
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.getByRole("link", { name: /^brisbane \d/ }).waitFor();
  await close(page);
});

test("time: what it shows is what the views have, and only its own jobs for a user", async () => {
  const { times, sites } = await api("GET", "history", undefined, user);
  const at = times.length - 12;
  for (const { site, carbon_g_per_kwh: grams, power_watts: watts } of sites) {
    const [row] = sql(`select carbon_g_per_kwh, power_watts from helio_report.site_energy where site = '${site}'
      and time <= '${times[at]}' and time > '${times[at]}'::timestamptz - interval '15 minutes' order by time desc limit 1`);
    assert.deepEqual([grams[at], watts[at]], row.map(Number), site);
  }
  for (const { site, price_usd_per_gpu_h: price } of sites) {
    const [[cost]] = sql(`select price_usd_per_gpu_h from helio_report.site_price where site = '${site}'
      and time <= '${times[at]}' and time > '${times[at]}'::timestamptz - interval '15 minutes' order by time desc limit 1`);
    assert.ok(Math.abs(price[at] - Number(cost)) < 1e-9, site);
  }
  const mine = await api("GET", "history?hours=1", undefined, user);
  assert.ok(mine.times.length === 4 && mine.away.every(({ from, to, jobs }) => from !== to && jobs > 0));
});

test("time: it plays, and stops at the hand of the reader", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^paris \d/ }).waitFor();
  await page.getByRole("button", { name: "Play 24 hours" }).click();
  const value = async () => Number(await page.getByRole("slider").inputValue());
  await until("steps", async () => (await value()) > 2 && (await value()) < 90);
  await page.getByRole("button", { name: "Pause" }).click();
  const stopped = await value();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 600)));
  assert.ok((await value()) - stopped <= 1);
  await close(page);
});

test("time: a site's forecast stands beside what came in the last 24 hours", async () => {
  const page = await open("#/sites/lulea");
  await page.getByRole("img", { name: /^Carbon intensity, the last 24 hours and the forecast\./ }).waitFor();
  await page.getByText("came in the last 24 hours").first().waitFor();
  assert.ok(page.record.urls.some((address) => address.endsWith("/v1/history?site=lulea")));
  const { sites } = await api("GET", "history?site=lulea", undefined, user);
  assert.deepEqual(sites.map(({ site }) => site), ["lulea"]);
  await close(page);
});

test("time: the price and the drain of hours ago are on the map and on the site's page", async () => {
  const page = await open("#/map");
  await page.getByRole("link", { name: /^virginia \d/ }).waitFor();
  const slider = page.getByRole("slider");
  await slider.focus();
  await page.locator(".scrubber output").waitFor();
  const { times, sites } = await api("GET", "history");
  const { draining, price_usd_per_gpu_h: price } = sites.find(({ site }) => site === "virginia");
  const step = draining.indexOf(true) + 2;
  assert.ok(step > 2 && draining.filter(Boolean).length === 16 && !draining.at(-1));
  await slider.fill(String(step));
  await page.getByRole("link", { name: /^virginia \d.*, draining$/ }).waitFor();
  const time = times[step];
  await until("the time in the address", async () => page.url().endsWith(`at=${encodeURIComponent(time)}`));
  await page.reload();
  await page.getByRole("link", { name: /^virginia \d.*, draining$/ }).waitFor(); // whoever gets the address sees the same
  const at = (await cells(page, "Sites", "Site")).indexOf("virginia");
  assert.equal((await cells(page, "Sites", "Price per GPU h"))[at], money(price[step]));
  await page.evaluate(() => (location.hash = "#/sites/virginia"));
  const from = times[draining.indexOf(true)], to = times[draining.lastIndexOf(true) + 1];
  await page.getByText(`It was drained from ${instant(from)} to ${instant(to)}.`).waitFor();
  await page.getByRole("img", { name: /^Price, the last 24 hours\. (Lowest |\$0\.0\d+ in all hours)/ }).waitFor();
  await close(page);
});

// ---- job

test("job: its attempts with what each used, and what it saved, as the view has it", async () => {
  const { attempts, savings } = await until("its savings", async () => {
    const found = await api("GET", `jobs/${ended}/attempts`);
    return found.savings.length === 2 && found;
  });
  const page = await open(`#/jobs/${ended}`);
  await rows(page, "Attempts").first().waitFor();
  assert.equal(await rows(page, "Attempts").count(), attempts.length);
  const [{ cost_usd: cost, planned_cost_usd: planned }] = attempts;
  assert.deepEqual(await cells(page, "Attempts", "Cost, planned"), [`${money(cost)} ${money(planned)}`]);
  const [[used, grams]] = sql(`select sum(cost_usd), sum(carbon_g) from helio_report.ledger where job_id = '${ended}'`);
  assert.ok(Math.abs(used - cost) < 1e-9 && Math.abs(grams - attempts[0].carbon_g) < 1e-9);
  const seen = sql(`select baseline, cost_usd_saved, baseline_site from helio_report.savings where job_id = '${ended}' order by baseline`);
  assert.deepEqual(
    savings.map(({ baseline, saved_cost_usd: saved, site }) => [baseline, saved, site]),
    seen.map(([baseline, saved, site]) => [baseline, Number(saved), site]),
  );
  for (const [baseline, saved] of seen) {
    const figure = page.locator(".figures div").filter({ hasText: `Cost against ${baseline === "home" ? "home" : "least wait"}` });
    await figure.getByText(said(Number(saved), money)).waitFor();
  }
  await shot(page, "job-ended");
  await close(page);
});

// ---- for everybody

const pages = {
  savings: ["#/savings", (page) => page.locator(".plot canvas").nth(1).waitFor()],
  teams: ["#/teams", (page) => page.locator(".team").first().waitFor()],
  whatif: ["#/whatif?carbon=1000&wait=0.1", (page) => answer(page, "Then").waitFor()],
  past: [
    "#/map",
    async (page) => {
      await page.getByRole("link", { name: /^paris \d/ }).waitFor();
      await page.getByRole("slider").fill("40");
      await page.locator(".scrubber output").getByText("ago").waitFor();
    },
  ],
};
for (const [name, [place, settled]] of Object.entries(pages))
  test(`everybody: ${name}: axe finds nothing in either theme, and it is no wider than a phone`, async () => {
    const page = await open(place);
    await settled(page);
    await forEverybody(page, name);
    await close(page);
  });

// ---- the README's pictures

test("pictures: the map, the savings, and a job at other prices", { skip: !pictures }, async () => {
  const size = { theme: "dark", width: 1180, height: 790 };
  const gpu = { gpu: "H100:1", cpus: 1, time: "1h", run: "sleep 600" };
  const trips = [["brisbane", "lulea"], ["virginia", "paris"], ["frankfurt", "lulea"], ["virginia", "lulea"]];
  for (const [home, site] of trips) await reaches(await submit({ ...gpu, home, placement: { sites: [site] } }), "running");
  const map = await open("#/map", size);
  await until("arcs", async () => (await map.locator(".arcs path").count()) >= trips.length);
  await picture(map, "map");
  const savings = await open("#/savings?days=30", { ...size, theme: "light", height: 860 });
  await pages.savings[1](savings);
  await picture(savings, "savings");
  const prices = await open("#/whatif?drain=lulea", { ...size, height: 760 });
  await answer(prices, "Then, with lulea drained").waitFor();
  await picture(prices, "what-if");
});
