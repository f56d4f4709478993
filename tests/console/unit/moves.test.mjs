import assert from "node:assert/strict";
import { test } from "node:test";
import { found, groupings, groupsOf, isIn } from "../../../console/src/groups.js";
import { countsOf, inOrder, MOST, moveOf, questionsOf } from "../../../console/src/moves.js";
import { drainsOf, stepOf } from "../../../console/src/past.js";
import { Patches } from "../../../console/src/patches.js";
import { commandOf, factors, kindOf, ofKind, supposedOf, valuesOf, wordsOf } from "../../../console/src/supposed.js";

const job = (id, state, more = {}) => ({
  id, state, name: "train", tenant: "a", user: "ana", queue: "batch", site: null, gpus: 8, gpu_model: "H100", reason: null, detail: null,
  submitted_at: "2026-11-20T10:00:00Z", ...more,
});

test("what is supposed is written as the broker and the rehearsal write it, and read again", () => {
  for (const text of [{ drain: "lulea" }, { curtail: "lulea:60:2h" }, { curtail: "lulea:0:168h" }, { price: "lulea:1.5" }, { price: "lulea:0" }]) {
    const filled = Object.fromEntries(Object.entries(valuesOf(supposedOf(text))).filter(([, value]) => value));
    assert.deepEqual(filled, text);
  }
  for (const text of [{}, { price: "lulea" }, { price: "lulea:x" }, { price: ":2" }, { price: "lulea:-1" }, { price: "lulea:1001" }, { curtail: "lulea" }, { curtail: "lulea:101:2h" }, { curtail: "lulea:60:0h" }, { curtail: "lulea:60:169h" }])
    assert.equal(supposedOf(text), null);
  assert.deepEqual(valuesOf(null), { drain: "", curtail: "", price: "" });
  assert.equal(wordsOf(supposedOf({ curtail: "paris:60:2h" })), "with paris curtailed to 60 % for 2 h");
  assert.equal(commandOf(supposedOf({ curtail: "paris:60:2h" })), "helio curtail paris --to 60% --for 2h --dry-run");
  for (const kind of ["drained", "curtailed", "price"]) assert.equal(kindOf(ofKind(kind, "paris")), kind);
  assert.equal(wordsOf(supposedOf({ price: "paris:2" })), "with paris at 2 times its price");
  assert.equal(commandOf(supposedOf({ drain: "paris" })), "helio drain paris --dry-run");
  assert.ok(factors.includes(1));
});

test("one task of an array is judged for all, only what waits or runs there is, and no more than a bound", () => {
  const jobs = [
    ...[0, 1, 2].map((i) => job(`sweep1.${i}`, "queued")), job("sweep1.3", "running", { site: "lulea" }),
    job("held11", "held"), job("other1", "running", { site: "paris" }), job("alone1", "suspect", { site: "lulea" }),
  ];
  const { questions, left } = questionsOf(jobs, "lulea");
  assert.deepEqual(questions.map(({ job: { id }, kind, count }) => [id, kind, count]), [["sweep1.0", "waiting", 3], ["sweep1.3", "running", 1], ["alone1", "running", 1]]);
  assert.equal(left, 0);
  const tasks = [job("sweep1.3", "running", { site: "lulea" }), job("sweep1.4", "running", { site: "lulea" })];
  assert.deepEqual([questionsOf(tasks, "lulea").questions.length, questionsOf(tasks, "lulea", true).questions.length], [1, 2]);
  const many = questionsOf(Array.from({ length: MOST + 5 }, (_, i) => job(`j${i}`, "queued")), "lulea");
  assert.deepEqual([many.questions.length, many.left], [MOST, 5]);
});

const place = (site, cost, sure = true, start = null) => ({ candidate: { site, pool: "a", start, cost_usd: cost, carbon_g: 1, energy_kwh: 1 }, sure });

test("a job moves to another place, starts at another time, stays, or runs on", () => {
  const waiting = { job: job("w", "queued"), kind: "waiting", count: 4 };
  const running = { job: job("r", "running", { site: "lulea" }), kind: "running", count: 1 };
  const later = "2099-01-01T00:00:00Z";
  const moves = [
    moveOf(waiting, place("lulea", 1), place("lulea", 1)),
    moveOf(running, null, place("paris", 2)),
    moveOf(waiting, place("lulea", 1), place("paris", 3)),
    moveOf(waiting, place("lulea", 1), place("lulea", 1, true, later)),
    moveOf(waiting, place("lulea", 1), null),
  ];
  assert.deepEqual(moves.map(({ fate }) => fate), ["stays", "runs", "moves", "starts", "moves"]);
  assert.equal(moves[2].change.cost, -2);
  assert.equal(moves[4].change, null);
  assert.deepEqual(inOrder(moves).map(({ fate }) => fate), ["moves", "moves", "starts", "runs", "stays"]);
  assert.deepEqual(countsOf(moves), { stopped: 0, moves: 8, starts: 4, runs: 1, stays: 4 });
  const stopped = moveOf(running, null, place("paris", 2), true);
  assert.equal(stopped.fate, "stopped");
  assert.equal(inOrder([...moves, stopped])[0], stopped);
});

test("groups count what waits and what is at a site, by everything that they can be made of", () => {
  const jobs = [
    job("a1.0", "queued"), job("a1.1", "running", { site: "lulea" }), job("b1", "held", { queue: "express", user: null, gpus: 1, submitted_at: "2026-11-19T10:00:00Z" }),
  ];
  const [batch, express] = groupsOf(jobs, "queue");
  assert.deepEqual([batch.group, batch.jobs, batch.waiting, batch.gpus_waiting, batch.running, batch.gpus_running], ["batch", 2, 1, 8, 1, 8]);
  assert.deepEqual([express.group, express.waiting, express.oldest], ["express", 1, "2026-11-19T10:00:00Z"]);
  assert.deepEqual(groupsOf(jobs, "array").map(({ jobs: count }) => count), [2, 1]);
  for (const by of Object.keys(groupings)) {
    const groups = groupsOf(jobs, by);
    assert.equal(groups.reduce((sum, { jobs: count }) => sum + count, 0), 3);
    for (const { group, jobs: count } of groups) assert.equal(jobs.filter((each) => isIn(each, by, group)).length, count);
  }
});

test("a search finds every word somewhere, whatever their case", () => {
  const jobs = [job("abc1", "queued", { detail: "no GPU is free" }), job("abc2", "running", { name: "Eval", site: "paris" })];
  assert.deepEqual(found(jobs, "EVAL par").map(({ id }) => id), ["abc2"]);
  assert.deepEqual(found(jobs, " free").map(({ id }) => id), ["abc1"]);
  assert.equal(found(jobs, "abc").length, 2);
  assert.equal(found(jobs, "").length, 2);
  assert.equal(found(jobs, "abc nothing").length, 0);
});

test("the hours in which a site was drained are spans, open at both ends", () => {
  const times = ["t0", "t1", "t2", "t3"];
  const spans = (...draining) => drainsOf({ draining }, times);
  assert.deepEqual(spans(false, false, false, false), []);
  assert.deepEqual(spans(true, true, false, true), [{ from: null, to: "t2" }, { from: "t3", to: null }]);
  assert.deepEqual(spans(false, true, false, false), [{ from: "t1", to: "t2" }]);
});

test("events change a list that was read, until it is read again", () => {
  const jobs = [job("a.0", "queued", { reason: "Queued", detail: "x" }), job("a.1", "queued"), job("a.2", "running", { site: "paris" })];
  const patches = new Patches();
  assert.equal(patches.apply(jobs, ["queued", "running"]), jobs);
  patches.take({ id: "a.0", to: "running", site: "lulea", reason: "" }, 100);
  patches.take({ id: "a.1", to: "cancelled", site: null }, 200);
  const now = patches.apply(jobs, ["queued", "running"]);
  assert.deepEqual(now.map(({ id, state, site, reason }) => [id, state, site, reason]), [["a.0", "running", "lulea", null], ["a.2", "running", "paris", null]]);
  patches.forget(150);
  assert.deepEqual(patches.apply(jobs, ["queued", "running"]).map(({ id, state }) => [id, state]), [["a.0", "queued"], ["a.2", "running"]]);
});

test("a time of an address is a step of the history, or now", () => {
  const times = ["2026-11-20T10:00:00Z", "2026-11-20T10:15:00Z", "2026-11-20T10:30:00Z"];
  const step = (text) => stepOf({ times }, text);
  assert.deepEqual([step(times[1]), step("2026-11-20T10:16:00Z"), step("2026-11-20T09:50:00Z")], [1, 2, 0]);
  assert.deepEqual([step("2026-11-20T10:31:00Z"), step("2026-11-18T10:00:00Z"), step("x"), step("")], [null, null, null, null]);
});
