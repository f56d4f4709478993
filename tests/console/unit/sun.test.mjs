import assert from "node:assert/strict";
import { test } from "node:test";
import { antipode, subsolarPoint } from "../../../console/src/sun.js";

const near = (actual, expected, off) => assert.ok(Math.abs(actual - expected) <= off, `${actual} is not ${expected} ± ${off}`);

// Instants of equinoxes and solstices (UTC): the declination is 0 or that of the tropics.
const turns = [
  ["2025-03-20T09:01Z", 0], ["2025-06-21T02:42Z", 23.44], ["2025-09-22T18:19Z", 0], ["2025-12-21T15:03Z", -23.44],
  ["2026-03-20T14:46Z", 0], ["2026-06-21T08:24Z", 23.44], ["2026-09-23T00:05Z", 0], ["2026-12-21T20:50Z", -23.44],
];
test("the sun stands over the equator at equinoxes and over the tropics at solstices", () => {
  for (const [time, latitude] of turns) near(subsolarPoint(Date.parse(time))[1], latitude, 0.02);
});

// The equation of time in minutes on days of its extremes and of a zero.
const clocks = [["2025-02-11", -14.2], ["2025-05-14", 3.7], ["2025-07-26", -6.5], ["2025-11-03", 16.4], ["2025-04-15", 0]];
test("at noon UTC the sun is off Greenwich by the equation of time", () => {
  for (const [day, minutes] of clocks) near(subsolarPoint(Date.parse(`${day}T12:00Z`))[0], -minutes / 4, 0.1);
});

test("the sun goes west by 15 degrees an hour, and longitudes stay on the globe", () => {
  for (let hour = 0; hour < 24 * 400; hour++) {
    const now = Date.parse("2026-01-01T00:00Z") + hour * 3600000;
    const [a] = subsolarPoint(now);
    const [b] = subsolarPoint(now + 3600000);
    assert.ok(a >= -180 && a < 180);
    near((a - b + 360) % 360, 15, 0.02);
  }
});

test("midnight is opposite to the sun", () => {
  assert.deepEqual(antipode([30, 20]), [-150, -20]);
  assert.deepEqual(antipode([-120, -5]), [60, 5]);
});
