import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { arcsOf } from "../../../console/src/arcs.js";
import { awayAt, sitesAt } from "../../../console/src/past.js";
import { carbonSteps, difference, nearest, placeOf, pointsOf, waitSteps } from "../../../console/src/plans.js";
import { budgetParts, ordered, scaleEnd, sharesOf, teamsOf } from "../../../console/src/quotas.js";
import { byDay, byTeam, counted, estimatedOf, kindsOf, ofTeam, quantities, scaleOf, shareSaved, sumsOf } from "../../../console/src/savings.js";

const line = (day, tenant, baseline, saved, more = {}) => ({
  day, tenant, baseline, carbon_kind: "average lifecycle", jobs: 2, jobs_estimated: 0,
  used_carbon_g: 10, baseline_carbon_g: 10 + saved, saved_carbon_g: saved, ...more,
});

test("savings are the sums of the lines, of each baseline apart", () => {
  const lines = [
    line("2026-11-20", "a", "home", 5), line("2026-11-20", "a", "least-wait", -3), line("2026-11-21", "b", "home", 7, { jobs_estimated: 1 }),
  ];
  const { home, "least-wait": least } = sumsOf(lines, "carbon_g");
  assert.deepEqual(home, { used: 20, would: 32, saved: 12, jobs: 4, estimated: 1 });
  assert.deepEqual(least, { used: 10, would: 7, saved: -3, jobs: 2, estimated: 0 });
  assert.deepEqual(sumsOf([], "carbon_g"), { home: null, "least-wait": null });
  assert.deepEqual(byTeam(lines, "carbon_g", "home").map(({ tenant }) => tenant), ["b", "a"]);
  assert.deepEqual(byTeam(lines, "carbon_g", "least-wait").map(({ tenant }) => tenant), ["a", "b"]); // who has none comes last
});

test("what was used rests on measured energy and known intensities by their shares of the energy", () => {
  const usage = [
    { tenant: "a", energy_kwh: 30, measured_ratio: 1, carbon_estimated_ratio: 0, estimated_gpu_seconds: 5400 },
    { tenant: "b", energy_kwh: 10, measured_ratio: 0.2, carbon_estimated_ratio: 0.5, estimated_gpu_seconds: 0 },
    { tenant: "b", energy_kwh: 0, measured_ratio: null, carbon_estimated_ratio: null, estimated_gpu_seconds: 0 },
  ];
  assert.deepEqual(estimatedOf(usage), { measured: 0.8, estimated: 0.125, gpuHours: 1.5 });
  assert.deepEqual(estimatedOf(ofTeam(usage, "b")), { measured: 0.2, estimated: 0.5, gpuHours: 0 });
  assert.deepEqual(estimatedOf([]), { measured: null, estimated: null, gpuHours: 0 });
  assert.equal(ofTeam(usage, "").length, 3);
});

test("every day has its place, the last one is today, and a day without a line is no zero", () => {
  const days = byDay([line("2026-11-20", "a", "home", 5)], "carbon_g", 3, Date.parse("2026-11-21T23:59Z"));
  assert.deepEqual(days.map(({ day, home }) => [day, home?.saved ?? null]), [["2026-11-19", null], ["2026-11-20", 5], ["2026-11-21", null]]);
});

test("grams of different kinds are not added, and money is, whatever the kind", () => {
  const lines = [line("d", "a", "home", 1), line("d", "a", "home", 2, { carbon_kind: "marginal", jobs: 9 }), line("d", "a", "home", 4, { carbon_kind: null })];
  assert.deepEqual(kindsOf(lines), ["marginal", "average lifecycle"]);
  assert.deepEqual(counted(lines, "carbon", "marginal").map((l) => l.saved_carbon_g), [2]);
  assert.equal(counted(lines, "carbon", undefined).length, 0);
  assert.equal(counted(lines, "cost", "marginal").length, 3);
});

test("a chart has the unit of its largest value, and shares are of what would have been", () => {
  assert.deepEqual(scaleOf([10, 2500, null], quantities.carbon), { factor: 1000, unit: "kg" });
  assert.deepEqual(scaleOf([], quantities.carbon), { factor: 1, unit: "g" });
  assert.deepEqual(scaleOf([-7200], quantities.wait), { factor: 3600, unit: "h" });
  assert.equal(shareSaved({ saved: 41, would: 100 }), "41 %");
  assert.equal(shareSaved({ saved: -3, would: 100 }), "3 %");
  assert.equal(shareSaved({ saved: -1, would: 0 }), "");
});

const quota = (tenant, queue, more = {}) => ({
  tenant, queue, guaranteed_gpus: 0, burst_gpus: null, gpus_in_use: 0, jobs_running: 0, gpu_hours_day: 0, weight: queue ? null : 1, budgets: [], ...more,
});

test("teams have their queues, those that hold most come first, and the rule for all others last", () => {
  const teams = ordered(teamsOf([quota("*", "batch"), quota("a", null), quota("a", "batch"), quota("b", null, { gpus_in_use: 3 })]));
  assert.deepEqual(teams.map(({ tenant, queues }) => [tenant, queues.length]), [["b", 0], ["a", 1], ["*", 1]]);
  assert.equal(teams[2].whole, null);
});

test("the scale of a quota holds whatever is larger, and shares are of those that take part", () => {
  assert.equal(scaleEnd(quota("a", null, { guaranteed_gpus: 8, burst_gpus: 32, gpus_in_use: 40 })), 40);
  assert.equal(scaleEnd(quota("a", null)), 1);
  const shares = sharesOf(teamsOf([quota("a", null, { gpu_hours_day: 3, weight: 1 }), quota("b", null, { gpu_hours_day: 1, weight: 3 }), quota("idle", null), quota("*", null, { gpu_hours_day: 9 })]));
  assert.deepEqual([...shares], [["a", { used: 0.75, due: 0.25 }], ["b", { used: 0.25, due: 0.75 }]]);
  assert.equal(sharesOf(teamsOf([quota("a", null, { gpus_in_use: 1 })])).get("a").used, null);
});

test("a budget's bar holds what is used and promised, and shows where the budget ends", () => {
  assert.deepEqual(budgetParts({ budget: 100, used: 30, committed: 20 }), { spent: 0.3, promised: 0.2, limit: 1, over: false });
  assert.deepEqual(budgetParts({ budget: 100, used: 150, committed: 50 }), { spent: 0.75, promised: 0.25, limit: 0.5, over: true });
  assert.deepEqual(budgetParts({ budget: 0, used: 0, committed: 0 }).over, false);
});

const candidate = (site, score_usd, carbon_g = 1, reason = null) => ({ site, pool: "p", score_usd, cost_usd: score_usd, carbon_g, energy_kwh: 1, reason });

test("a job goes where the plan says, or to the best that could run it, and to no drained site", () => {
  const plan = { candidates: [candidate("c", 3), candidate("a", 1, 9), candidate("b", 2), candidate("x", 0, 0, "Forbidden")], chosen: "a", chosen_pool: "p" };
  assert.equal(placeOf(plan).candidate.site, "a");
  const full = { candidates: [candidate("a", 1, 1, "NoCapacity"), candidate("b", 2, 1, "NoCapacity")], chosen: null, chosen_pool: null };
  assert.deepEqual([placeOf(full).candidate.site, placeOf(full).sure], ["a", false]);
  assert.equal(placeOf({ candidates: [candidate("x", 0, 0, "Forbidden")], chosen: null }), null);
  const drained = { candidates: [candidate("a", 1, 1, "Draining"), candidate("b", 2, 1, "NoCapacity")], chosen: null, chosen_pool: null };
  assert.deepEqual([placeOf(drained).candidate.site, placeOf(drained).sure], ["b", false]);
  assert.deepEqual(difference(candidate("a", 5, 9), candidate("b", 2, 4)), { cost: 3, carbon: 5, energy: 0 });
  assert.equal(difference(null, candidate("b", 2)), null);
});

test("whatever the core explains has its points within the square", () => {
  const folder = new URL("../../golden/explain/", import.meta.url);
  let points = 0;
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".json")))
    for (const { x, y } of pointsOf(JSON.parse(readFileSync(new URL(name, folder), "utf8")).candidates)) {
      points++;
      assert.ok(x >= 0 && x <= 1 && y >= 0 && y <= 1);
    }
  assert.ok(points > 20);
});

test("sliders have the prices of the goals, in ascending order, and find the nearest", () => {
  for (const steps of [carbonSteps, waitSteps]) steps.slice(1).forEach((step, i) => assert.ok(step > steps[i]));
  assert.equal(carbonSteps[nearest(carbonSteps, 200)], 200);
  assert.equal(carbonSteps[nearest(carbonSteps, 1e9)], 5000);
  assert.equal(waitSteps[nearest(waitSteps, 0)], 0);
});

const history = {
  times: ["2026-11-20T10:00Z", "2026-11-20T10:15Z", "2026-11-20T11:15Z"],
  sites: [{ site: "a", gpus_total: [8, null, 8], gpus_free: [3, null, 8], jobs_running: [2, null, 0], power_watts: [900, null, 1], carbon_g_per_kwh: [12, null, 400], price_usd_per_gpu_h: [2.5, null, 2], draining: [false, true, false], curtailed_to_percent: [null, 60, null] }],
  away: [
    { time: "2026-11-20T10:15Z", from: "b", to: "a", jobs: 5000 }, { time: "2026-11-20T11:00Z", from: "b", to: "a", jobs: 2 }, { time: "2026-11-20T11:15Z", from: "b", to: "a", jobs: 1 },
  ],
};
const now = [{ site: "a", latitude: 1, longitude: 1, state: "ready", curtailed_to_percent: 20, gpus_total: 8, gpus_free: 1 }, { site: "b", latitude: 2, longitude: 2, state: "ready", gpus_total: 8, gpus_free: 8 }];

test("a site of hours ago has the figures of then, and nothing of now", () => {
  const [a, b] = sitesAt(now, history, 0);
  assert.deepEqual([a.state, a.gpus_free, a.carbon_g_per_kwh, a.jobs_running, a.latitude, a.price_usd_per_gpu_h], ["ready", 3, 12, 2, 1, 2.5]);
  assert.deepEqual([b.state, b.gpus_total, b.gpus_free, b.carbon_g_per_kwh], ["silent", 0, 0, null]); // it did not exist yet
  assert.deepEqual(sitesAt(now, history, 1).map(({ state }) => state), ["draining", "silent"]);
  assert.deepEqual([0, 1].flatMap((i) => sitesAt(now, history, i).map((each) => each.curtailed_to_percent)), [null, null, 60, null]);
});

test("arcs are of the hour before, as many as jobs went", () => {
  const arcs = (i) => arcsOf(awayAt(history, i), now, Date.parse(history.times[i])).map(({ key, count }) => [key, count]);
  assert.deepEqual(arcs(0), []);
  assert.deepEqual(arcs(1), [["b a", 5000]]);
  assert.deepEqual(arcs(2), [["b a", 3]]);
});
