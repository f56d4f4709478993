import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsOf, conditionWords, inOrder, lostWords, orderOf, powerWords, spansOf, wasCurtailed } from "../../../console/src/condition.js";
import { inOrder as considered, placesOf, whyFirst } from "../../../console/src/order.js";
import { digitsOf } from "../../../console/src/savings.js";
import { editable, editOf } from "../../../console/src/states.js";

const site = (state, draining = false, percent = null) => ({ state, draining, curtailed_to_percent: percent });

test("a site that is curtailed says so, beside whatever else it is", () => {
  assert.deepEqual(conditionsOf(site("ready")), [{ word: "ready", group: "good", sign: "✓" }]);
  assert.deepEqual(conditionsOf(site("ready", false, 0)), [{ word: "curtailed to 0 %", group: "doubt", sign: "◒" }]);
  assert.equal(conditionWords(site("ready", true, 60)), "draining, curtailed to 60 %");
  assert.equal(conditionWords(site("silent", false, 60)), "silent, curtailed to 60 %");
  assert.equal(conditionWords({ state: "ready", draining: false }), "ready"); // a broker that does not know curtailments
});

test("curtailments to come stand before those that are over, the next one first", () => {
  const at = (state, from) => ({ state, from: `2026-11-2${from}T00:00:00Z` });
  const list = [at("over", 1), at("scheduled", 9), at("ended", 3), at("in_force", 2)];
  assert.deepEqual(inOrder(list).map(({ state }) => state), ["in_force", "scheduled", "ended", "over"]);
});

test("the figures of a curtailment that has not begun are not known", () => {
  assert.deepEqual(powerWords({ limit_watts: null, full_watts: null, used_watts: null }), { limit: "–", used: "–" });
  assert.deepEqual(powerWords({ limit_watts: 4804, full_watts: 8008, used_watts: 0 }), { limit: "4.80 kW of 8.01 kW", used: "0 W" });
  assert.equal(lostWords({ jobs_stopped: 2, lost_gpu_s: 5400 }), "2, 1h 30m");
  assert.equal(lostWords({ jobs_stopped: 0, lost_gpu_s: 0 }), "0");
});

test("what was typed becomes the command, its time read as UTC", () => {
  assert.deepEqual(orderOf({ percent: "60", hours: "1.5", begin: "", reason: "grid" }), { to_percent: 60, for_s: 5400, reason: "grid" });
  assert.equal(orderOf({ percent: "0", hours: "2", begin: "2026-11-28T17:00", reason: "grid" }).at, "2026-11-28T17:00:00Z");
  assert.equal(orderOf({ percent: "0", hours: "2", begin: "2026-11-28T17:00:30", reason: "grid" }).at, "2026-11-28T17:00:00Z");
});

test("the hours in which a site was curtailed are spans of one share each", () => {
  const times = ["00", "01", "02", "03", "04", "05"].map((hour) => `2026-11-27T${hour}:00:00Z`);
  const spans = spansOf([60, 60, 40, null, null, 20], times);
  assert.deepEqual(spans.map(({ value, from, to }) => [value, from?.slice(11, 13), to?.slice(11, 13)]), [[60, undefined, "02"], [40, "02", "03"], [20, "05", undefined]]);
  assert.match(wasCurtailed(spans[0]), /^It was curtailed to 60 % from before these hours to .*02:00Z\.$/);
  assert.match(wasCurtailed(spans[2]), /^It was curtailed to 20 % from .*05:00Z until now\.$/);
  assert.deepEqual(spansOf([null, null], times), []);
});

test("jobs stand in the order in which they are considered, whatever the number of teams", () => {
  const queues = [{ queue: "standard", priority: 500 }, { queue: "batch", priority: 900 }, { queue: "express", priority: 100 }];
  const job = (id, minute, part) => ({ id, submitted_at: `2026-11-27T10:${minute}:00Z`, state: "queued", tier: "standard", queue: "standard", tenant: "a", priority: 0, ...part });
  const jobs = [
    job("runs", "00", { state: "running" }),
    job("held", "01", { state: "held" }),
    job("cheap", "02", { tier: "best-effort" }),
    job("old", "03"),
    job("other-team", "04", { tenant: "b", priority: -5 }), // a priority says nothing between teams
    job("young-but-first", "09", { priority: 7 }),
    job("nightly", "10", { queue: "batch" }),
    job("urgent", "11", { tier: "critical", queue: "express" }),
    job("old.2", "03"),
  ];
  const order = considered([...jobs].reverse(), queues).map(({ id }) => id);
  // "young-but-first" is before the jobs of its own team, and waits behind the other team, whose first job is older
  assert.deepEqual(order, ["urgent", "nightly", "other-team", "young-but-first", "old", "old.2", "cheap", "held", "runs"]);
  assert.deepEqual(considered([], queues), []);
});

test("the numbers at an axis have as many digits as tell them apart", () => {
  assert.deepEqual([25, 1, 0.5, 0.25, 0.125, 0.05, 2e-5].map(digitsOf), [0, 0, 1, 2, 3, 2, 5]);
});

test("an array is edited once, what is placed not at all, and only what was typed changes", () => {
  const job = (id, state) => ({ id, state });
  assert.deepEqual(editable([job("a.0", "queued"), job("a.1", "held"), job("b", "running"), job("c", "queued"), job("d.1", "succeeded")]), ["a", "c"]);
  assert.deepEqual(editOf({ priority: "0", goal: "", flexible: "" }), { priority: 0 });
  assert.deepEqual(editOf({ priority: "", goal: "green", flexible: "12h" }), { goal: "green", flexible: "12h" });
  assert.deepEqual(editOf({ priority: "", goal: "", flexible: "" }), {});
});

test("jobs with a place in the broker's order stand first, by that place, and others as before", () => {
  const job = (id, queue = "standard", state = "queued") => ({ id, state, tier: "standard", queue, tenant: "a", priority: 0, submitted_at: `2026-01-0${id}` });
  const order = {
    tenants: [{ tenant: "b", used_a100_per_weight: 2.5 }],
    order: [
      { position: 1, jobs: 2, tenant: null, queue: "standard", why: "tier", ids: [] },
      { position: 3, jobs: 2, tenant: "b", queue: "batch", why: "share", ids: ["4", "2"] },
    ],
  };
  const places = placesOf(order);
  assert.deepEqual([...places].map(([id, { place, why }]) => [id, place, why]), [["4", 3, "share"], ["2", 4, "share"]]);
  assert.equal(places.get("2").share.used_a100_per_weight, 2.5);
  const jobs = [job("1"), job("2", "batch"), job("3", "standard", "running"), job("4", "batch")];
  assert.deepEqual(considered(jobs, [{ queue: "standard", priority: 2 }], places).map(({ id }) => id), ["4", "2", "1", "3"]);
  assert.deepEqual(considered(jobs, [{ queue: "standard", priority: 2 }]).map(({ id }) => id), ["1", "2", "4", "3"]);
  assert.equal(placesOf(undefined).size, 0);
});

test("who is next is said with what decides", () => {
  assert.equal(whyFirst({ tenant: "b", why: "share" }), "b has used the least for its weight");
  assert.equal(whyFirst({ tenant: "b", why: "guarantee" }), "b has less than it is guaranteed");
  assert.equal(whyFirst({ tenant: "b", why: "of a later release" }), "");
});
