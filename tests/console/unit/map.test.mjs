import assert from "node:assert/strict";
import { test } from "node:test";
import { arcsOf } from "../../../console/src/arcs.js";
import { placeLabels, spread } from "../../../console/src/labels.js";
import { legend, luminance, rampColor } from "../../../console/src/ramp.js";

const overlaps = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
const field = { width: 1000, height: 486 };

const noCollision = (points, boxes) => {
  boxes.forEach((box, i) => {
    assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.w <= field.width && box.y + box.h <= field.height, `label ${i} is outside`);
    boxes.slice(0, i).forEach((other, k) => assert.ok(!overlaps(box, other), `labels ${i} and ${k}`));
    points.forEach(({ x, y, r }, k) => assert.ok(!overlaps(box, { x: x - r, y: y - r, w: 2 * r, h: 2 * r }), `label ${i} and point ${k}`));
  });
};

test("labels of close neighbours cover neither each other nor a point", () => {
  const points = [0, 1, 2, 3, 4, 5].map((i) => ({ x: 500 + 14 * (i % 3), y: 120 + 16 * Math.floor(i / 3), r: 10 }));
  noCollision(points, placeLabels(points, points.map(() => ({ w: 90, h: 17 })), field));
});

test("labels at the edge stay inside", () => {
  const points = [[3, 3], [997, 3], [3, 483], [997, 483]].map(([x, y]) => ({ x, y, r: 10 }));
  noCollision(points, placeLabels(points, points.map(() => ({ w: 120, h: 17 })), field));
});

test("points that cover one another are moved apart, and the others stay", () => {
  const crowd = [[500, 100], [503, 104], [500, 100], [498, 97], [900, 50]].map(([x, y]) => ({ x, y, r: 11 }));
  const apart = spread(crowd);
  apart.forEach((a, i) => apart.slice(0, i).forEach((b) => assert.ok(Math.hypot(a.x - b.x, a.y - b.y) > 21.9)));
  assert.deepEqual(apart[4], crowd[4]);
  apart.forEach(({ x, y }, i) => assert.ok(Math.hypot(x - crowd[i].x, y - crowd[i].y) < 33));
});

test("a label stands on the side that its neighbours leave free", () => {
  const points = [{ x: 500, y: 100, r: 11 }, { x: 522, y: 100, r: 11 }];
  const [left, right] = placeLabels(points, points.map(() => ({ w: 90, h: 17 })), field);
  assert.ok(left.x < 500 && right.x > 522);
});

test("a label that is far from its point says so", () => {
  const points = Array.from({ length: 12 }, () => ({ x: 500, y: 200, r: 10 }));
  const boxes = placeLabels(points, points.map(() => ({ w: 90, h: 17 })), field);
  assert.equal(boxes[0].far, false);
  assert.ok(boxes.some(({ far }) => far));
});

test("of two hundred sites many names have no place, and those that are shown cover nothing", () => {
  const points = spread(Array.from({ length: 200 }, (_, i) => ({ x: 20 + ((i * 137) % 960), y: 20 + ((i * 61) % 440), r: 10 })));
  const boxes = placeLabels(points, points.map(() => ({ w: 100, h: 17 })), field);
  const shown = boxes.filter(({ hidden }) => !hidden);
  assert.ok(shown.length > 40 && shown.length < 200, `${shown.length}`);
  noCollision(points, shown);
});

test("lightness falls as carbon rises, over the whole ramp", () => {
  let last = Infinity;
  for (let grams = 0; grams <= 800; grams += 5) {
    const now = luminance(rampColor(grams));
    assert.ok(now < last, `${grams} g/kWh is not darker than ${grams - 5}`);
    last = now;
  }
  assert.deepEqual(rampColor(2000), rampColor(800));
  assert.deepEqual(rampColor(-5), rampColor(0));
  assert.equal(rampColor(null), null);
});

test("neighbours in the legend differ in lightness by a step that is seen", () => {
  const lights = legend.map((grams) => luminance(rampColor(grams)) + 0.05);
  for (let i = 1; i < lights.length; i++) assert.ok(lights[i - 1] / lights[i] > 1.3);
});

test("arcs count the jobs of the last hour that left home", () => {
  const now = Date.parse("2026-01-01T12:00Z");
  const site = (name) => ({ site: name, longitude: 1, latitude: 2 });
  const sites = [site("a"), site("b"), { ...site("c"), latitude: null }];
  const job = (home_site, to, started_at) => ({ home_site, site: to, started_at });
  const jobs = [
    job("a", "b", "2026-01-01T11:30Z"), job("a", "b", "2026-01-01T11:59Z"), job("b", "a", "2026-01-01T11:59Z"),
    job("a", "a", "2026-01-01T11:59Z"), job("a", "b", "2026-01-01T10:59Z"), job("a", "b", null),
    job("a", "c", "2026-01-01T11:59Z"), job(null, "b", "2026-01-01T11:59Z"), job("a", null, "2026-01-01T11:59Z"),
  ];
  assert.deepEqual(arcsOf(jobs, sites, now).map(({ home, site: to, count }) => [home, to, count]), [["a", "b", 2], ["b", "a", 1]]);
});
