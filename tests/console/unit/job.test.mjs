import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { appended, followLog, KEPT } from "../../../console/src/log.js";
import { columnsOf, expectedOf, extremes, foreseenOf, hasSpread, offBy, reach, readout } from "../../../console/src/series.js";
import { spansOf, widths } from "../../../console/src/timeline.js";
import { wishesOf } from "../../../console/src/wishes.js";
import { isPriced, ranked, rangeOf, savedAgainst, shownRange, stepsOf } from "../../../console/src/waterfall.js";

// Explanations that the broker's core gave, kept for the command line's tests.
const folder = new URL("../../golden/explain/", import.meta.url);
const explanations = readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")));

test("the steps of every candidate of the core lead to its score", () => {
  let steps = 0;
  for (const { candidates } of explanations)
    for (const candidate of candidates.filter(isPriced)) {
      const own = stepsOf(candidate);
      steps += own.length;
      assert.ok(Math.abs((own.at(-1)?.to ?? 0) - candidate.score_usd) < 1e-3, JSON.stringify(candidate));
      const [least, most] = rangeOf(candidates);
      for (const { from, to } of own) assert.ok(Math.min(from, to) >= least && Math.max(from, to) <= most);
    }
  assert.ok(steps > 20);
});

test("what costs many times as much as most is cut, and nothing else", () => {
  const of = (...scores) => scores.map((money) => ({ site: "a", pool: "p", score_usd: money, cost_usd: money, reason: null, terms: { money } }));
  assert.deepEqual(shownRange(of(3, 4, 5, 6, 8)), [0, 8]);
  const [least, most] = shownRange(of(3, 4, 5, 80));
  assert.ok(least === 0 && most > 5 && most < 6);
  assert.deepEqual(shownRange(of(1, 90)), [0, 90]); // of two, neither is usual
  assert.deepEqual(shownRange([]), rangeOf([]));
  for (const { candidates } of explanations) assert.ok(shownRange(candidates)[1] <= rangeOf(candidates)[1] * 1.15);
});

test("candidates that can run the job come first, those that never can come last", () => {
  for (const { candidates } of explanations) {
    const tiers = ranked(candidates).map((each) => (isPriced(each) ? Number(Boolean(each.reason)) : 2));
    assert.deepEqual(tiers, [...tiers].sort());
    assert.equal(tiers.length, candidates.length);
  }
});

const candidate = (site, pool, cost_usd, carbon_g, reason = null) => ({ site, pool, cost_usd, carbon_g, energy_kwh: 1, score_usd: cost_usd, reason });

test("a choice is compared with the best pool of the other site", () => {
  const all = [candidate("a", "x", 2, 100), candidate("b", "x", 5, 900), candidate("b", "y", 3, 500), candidate("c", "x", 0, 0, "NoSuchGPU")];
  assert.deepEqual(savedAgainst(all, { site: "a", pool: "x" }, "b"), { site: "b", cost: 1, carbon: 400, energy: 0 });
  assert.equal(savedAgainst(all, { site: "a", pool: "x" }, "a"), null);
  assert.equal(savedAgainst(all, { site: "a", pool: "x" }, "c"), null); // it could not run there
  assert.equal(savedAgainst(all, { site: null, pool: null }, "b"), null);
});

test("a history becomes spans without gaps", () => {
  const at = (second) => new Date(second * 1000).toISOString();
  const history = [["queued", 10, 0], ["offered", 30, 1], ["running", 31, 1], ["running", 40, 1], ["queued", 50, 1], ["running", 60, 2], ["succeeded", 90, 2]]
    .map(([to, time, epoch]) => ({ to, time: at(time), epoch }));
  const spans = spansOf(at(10), history, 1e6);
  assert.deepEqual(spans.map(({ state, from, to }) => [state, from / 1000, to / 1000]),
    [["queued", 10, 30], ["offered", 30, 31], ["running", 31, 50], ["queued", 50, 60], ["running", 60, 90], ["succeeded", 90, 90]]);
  const open = spansOf(at(10), history.slice(0, 3), 45000);
  assert.equal(open.at(-1).to, 45000);
  const shares = widths(spans);
  assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 1) < 1e-9);
  assert.ok(Math.min(...shares) > 0.004);
});

test("a log keeps its end, cut at a line", () => {
  let log = { text: "", cut: false };
  for (let i = 0; i < 30000; i++) log = appended(log.text, `line ${i}\n`);
  assert.ok(log.cut || log.text.length < KEPT);
  const long = appended("x".repeat(KEPT), "\nlast\n");
  assert.deepEqual(long, { text: "last\n", cut: true });
  assert.equal(appended("", "y".repeat(2 * KEPT)).text.length, KEPT);
});

const answerOf = (epoch, offset, text, fails) => ({
  headers: new Headers({ "X-Helio-Log-Epoch": String(epoch), "X-Helio-Log-Offset": String(offset) }),
  body: new ReadableStream({
    pull(controller) {
      if (text) controller.enqueue(new TextEncoder().encode(text));
      else if (fails) controller.error(new TypeError("network"));
      else controller.close();
      text = "";
    },
  }),
});

async function followed(answers, epochs) {
  const asked = [];
  let text = "";
  const request = async (path) => {
    asked.push(path.split("?")[1]);
    return answers.shift()();
  };
  await followLog({ request, id: "j", signal: new AbortController().signal, take: (more) => { text += more; }, restart: () => { text = ""; },
    epochNow: () => epochs[0], rest: async () => { if (epochs.length > 1) epochs.shift(); } });
  return { asked, text };
}

test("a log goes on after a broken connection where it was, in bytes", async () => {
  const { asked, text } = await followed([() => answerOf(1, 0, "añ", true), () => answerOf(1, 3, "b", false)], [1, 1]);
  assert.deepEqual(asked, ["follow=1", "follow=1&offset=3&epoch=1"]);
  assert.equal(text, "añb");
});

test("a log begins anew when another attempt has begun meanwhile", async () => {
  const { asked, text } = await followed([() => answerOf(1, 0, "old", true), () => answerOf(2, 0, "new", false)], [1, 2]);
  assert.deepEqual(asked, ["follow=1", "follow=1"]);
  assert.equal(text, "new");
});

test("a log that may not be read is an error, a broker that is away is not", async () => {
  const fail = (status) => () => { throw Object.assign(new Error("no"), { status }); };
  await assert.rejects(followed([fail(404)], [1]));
  const { text } = await followed([fail(503), () => answerOf(1, 0, "x", false)], [1, 1]);
  assert.equal(text, "x");
});

test("a series without a spread has its value as both edges", () => {
  const points = [{ time: "2026-01-01T00:00Z", value: 5, p10: null, p90: null }, { time: "2026-01-01T01:00Z", value: 7, p10: 6, p90: 9 }, { time: "2026-01-01T02:00Z", value: null, p10: null, p90: null }];
  const none = [null, null, null];
  assert.deepEqual(columnsOf(points), [[1767225600, 1767229200, 1767232800], [5, 7, null], [5, 6, null], [5, 9, null], none, none, none, none]);
  const past = [{ time: "2025-12-31T23:45Z", value: 4 }, { time: "2026-01-01T00:00Z", value: 9 }]; // an hour that is forecast is not past
  assert.deepEqual(columnsOf(points, past), [
    [1767224700, 1767225600, 1767229200, 1767232800], [null, 5, 7, null], [null, 5, 6, null], [null, 5, 9, null], [4, ...none], [null, ...none], [null, ...none], [null, ...none],
  ]);
  assert.equal(hasSpread(points), true);
  assert.equal(hasSpread(points.slice(0, 1)), false);
  assert.deepEqual([extremes(points).lowest.value, extremes(points).highest.value, extremes([])], [5, 7, null]);
});

test("what came stands beside what had been expected of the hour in which it came", () => {
  const at = (text, value) => ({ time: `2026-01-01T${text}:00Z`, value });
  const earlier = [{ ...at("00:00", 10), p10: 8, p90: 13 }, { ...at("01:00", 20), p10: null, p90: null }];
  const past = [at("00:45", 12), at("01:00", 9), at("01:15", 26), at("02:15", null), at("03:15", 5)];
  const [, , , , came, was, low, high] = columnsOf([at("04:00", 1)], past, earlier);
  assert.deepEqual(came, [12, 9, 26, null, 5, null]);
  assert.deepEqual(was, [10, 10, 20, null, null, null]); // a step belongs to the hour in which it ends; nothing is expected of later hours
  assert.deepEqual([low, high], [[8, 8, 20, null, null, null], [13, 13, 20, null, null, null]]);
  assert.equal(offBy(past, earlier), 3); // 2, 1 and 6
  const said = (i) => readout(columnsOf([{ ...at("04:00", 7), p10: 5, p90: 9 }], past, earlier), i, (value) => `${value} g`).replace(/^.*Z: /, "");
  assert.deepEqual([0, 3, 4, 5].map(said), ["came 12 g, had been expected 10 g", "", "came 5 g", "expected 7 g (5 g to 9 g)"]);
  assert.equal(offBy(past, []), null);
  assert.deepEqual(foreseenOf({ issued_at: "2026-01-01T00:15:00Z", points: earlier }), earlier.slice(1)); // the first hour had begun
  assert.deepEqual(foreseenOf(null), []);
  assert.equal(expectedOf(earlier, "2026-01-01T00:00:00Z"), null);
});

test("what a job wants is said with what it means now", () => {
  const job = {
    goal: "green", flexible_s: 43200, deadline: "2026-01-02T00:00:00Z", max_cost_usd: 20, max_carbon_g_per_kwh: 300, priority: 3,
    submitted_at: "2026-01-01T00:00:00Z", finished_at: null,
  };
  const wishes = (part, now = "2026-01-01T06:00:00Z") =>
    wishesOf({ ...job, ...part }, Date.parse(now)).filter(Boolean).map((each) => each.filter((text) => text !== null).join("|"));
  assert.deepEqual(wishes({}), [
    "Goal|green", "Flexible|12h| until 12:00Z", "Deadline|01-02 00:00Z| in 18h", "May cost|$20.00| at most", "Intensity|300 g/kWh| at most",
    "Priority|3| among its tenant's jobs in the queue",
  ]);
  assert.deepEqual(wishes({ goal: null, flexible_s: 0, deadline: null, max_cost_usd: null, max_carbon_g_per_kwh: null, priority: 0 }), [
    "Goal|prices of its own", "Flexible|no| it starts when it can", "Deadline|none",
  ]);
  const deadline = (part, now) => wishes(part, now)[2];
  assert.match(deadline({}, "2026-01-02T01:00:00Z"), /missed by 1h so far$/);
  assert.match(deadline({ finished_at: "2026-01-01T23:00:00Z" }, "2026-01-05T00:00:00Z"), /kept$/);
  assert.match(deadline({ finished_at: "2026-01-02T00:30:00Z" }, "2026-01-05T00:00:00Z"), /missed by 30m$/);
  assert.deepEqual(wishesOf({ id: "a whole array" }, 0), []);
});

test("a series that is flat says so once", () => {
  const at = (hour, value) => ({ time: `2026-03-01T0${hour}:00:00Z`, value });
  const words = (points) => reach(extremes(points), ({ value }) => `${value.toFixed(1)} g`);
  assert.match(words([at(1, 5), at(2, 7)]), /^Lowest 5\.0 g at .*01:00Z, highest 7\.0 g at .*02:00Z\.$/);
  assert.equal(words([at(1, 5), at(2, 5.01)]), "5.0 g in all hours.");
});
