import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../console/src/format.js";
import { reasonsOf } from "../../../console/src/reasons.js";
import { link, parseHash } from "../../../console/src/router.js";
import { sorted } from "../../../console/src/sort.js";
import { ENDED, OPEN, groupOf, isOver } from "../../../console/src/states.js";

test("quantities have a unit that fits, and a dash where they are not known", () => {
  const rows = [
    [format.money(0), "$0"], [format.money(0.00001), "under $0.0001"], [format.money(0.0276), "$0.0276"], [format.money(2.6), "$2.60"], [format.money(-12.5), "−$12.50"],
    [format.money(1234), "$1,234"], [format.money(null), "–"], [format.carbon(12), "12.0 g"], [format.carbon(1350), "1.35 kg"],
    [format.carbon(2.5e6), "2.50 t"], [format.energy(0.077), "77.0 Wh"], [format.energy(14.78), "14.8 kWh"], [format.power(12300), "12.3 kW"],
    [format.intensity(38), "38 g/kWh"], [format.intensity(undefined), "–"], [format.ratio(1, 4), "25 %"], [format.ratio(1, 0), "–"],
    [format.duration(0), "0s"], [format.duration(59.6), "1m"], [format.duration(3600), "1h"], [format.duration(90061), "1d 1h"],
    [format.duration(-5), "0s"], [format.duration(null), "–"], [format.plural(1, "job"), "1 job"], [format.plural(1200, "job"), "1,200 jobs"],
  ];
  for (const [actual, expected] of rows) assert.equal(actual, expected);
});

test("times are UTC, with their day unless it is today", () => {
  const now = Date.parse("2026-05-03T10:00Z");
  assert.equal(format.instant("2026-05-03T23:59:59.9Z", now), "23:59Z");
  assert.equal(format.instant("2026-05-03T01:00:00+02:00", now), "05-02 23:00Z");
  assert.equal(format.instant(null, now), "–");
  assert.equal(format.ago("2026-05-03T09:58:30Z", now), "1m 30s ago");
});

test("ids are shortened as on the command line", () => {
  assert.equal(format.shortId("01m840a6fse0081n3dy5g4p53f"), "y5g4p53f");
  assert.equal(format.shortId("01m840a6fse0081n3dy5g4p53f.12"), "y5g4p53f.12");
});

test("unknown values stay at the end of a sorted table, whichever way it goes", () => {
  const column = { value: ({ n }) => n };
  const rows = [{ n: 3 }, { n: null }, { n: 1 }, {}, { n: 2 }];
  assert.deepEqual(sorted(rows, column, false).map(({ n }) => n ?? "-"), [1, 2, 3, "-", "-"]);
  assert.deepEqual(sorted(rows, column, true).map(({ n }) => n ?? "-"), [3, 2, 1, "-", "-"]);
  const names = [{ n: "site-10" }, { n: "site-9" }];
  assert.deepEqual(sorted(names, column, false).map(({ n }) => n), ["site-9", "site-10"]);
  assert.deepEqual(rows[0], { n: 3 });
});

test("places are read back as they are linked, whatever is in the name", () => {
  for (const name of ["lulea", "a/b", "50%", "ö?#&", "..", "01m84.3"])
    assert.deepEqual(parseHash(link("sites", name)), { page: "sites", argument: name, values: {} });
  assert.deepEqual(parseHash(""), { page: "map", argument: "", values: {} });
  assert.deepEqual(parseHash("#/sites/%"), { page: "sites", argument: "%", values: {} });
  assert.deepEqual(parseHash("#/queue?view=ended&queue=a%20b"), { page: "queue", argument: "", values: { view: "ended", queue: "a b" } });
});

test("waiting jobs are counted by reason, the most common one first", () => {
  const job = (state, reason) => ({ state, reason });
  const jobs = [job("queued", "Gated"), job("queued", "WaitingForCapacity"), job("held", "WaitingForCapacity"), job("queued", null), job("running", "x")];
  assert.deepEqual(reasonsOf(jobs), [["WaitingForCapacity", 2], ["Gated", 1], ["Queued", 1]]);
});

test("every state is open or ended, and one that is unknown is shown as doubtful", () => {
  assert.equal(new Set([...OPEN, ...ENDED]).size, 14);
  assert.ok(OPEN.every((state) => !isOver(state)) && ENDED.every(isOver));
  assert.equal(groupOf("teleported"), "doubt");
});
