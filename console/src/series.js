// Forecast series of the API as columns of a plot.
import { instant } from "./format.js";

const HOUR_MS = 3600000;
export const signals = {
  carbon_g_per_kwh: { title: "Carbon intensity", unit: "g/kWh", digits: 0 },
  electricity_usd_per_kwh: { title: "Electricity", unit: "$/kWh", digits: 3 },
  price_usd_per_gpu_h: { title: "Price", unit: "$/GPU h", digits: 2 },
  reserved_gpus: { title: "Reserved GPUs", unit: "GPUs", digits: 0 },
  free_gpus: { title: "Free GPUs", unit: "GPUs", digits: 0 },
  pue: { title: "PUE", unit: "", digits: 2 },
  power_watts: { title: "Power", unit: "W", digits: 0 },
};

// What was expected of the step that ends at `time`: the last point before it. null: none was within an hour.
export function expectedOf(points, time) {
  const end = Date.parse(time);
  const point = points.findLast((each) => Date.parse(each.time) < end);
  return point && end - Date.parse(point.time) <= HOUR_MS ? point : null;
}

// Of an earlier issue, the hours that had not begun when it was issued: the others were no forecast.
export const foreseenOf = (earlier) => (earlier?.points ?? []).filter(({ time }) => Date.parse(time) >= Date.parse(earlier.issued_at));

// How far what came was off what had been expected, on average; null: no step has both.
export function offBy(past, earlier) {
  const both = past.flatMap(({ time, value }) => {
    const expected = expectedOf(earlier, time)?.value ?? null;
    return value === null || expected === null ? [] : [Math.abs(value - expected)];
  });
  return both.length ? both.reduce((sum, each) => sum + each, 0) / both.length : null;
}

// [seconds, value, p10, p90, came, was, was10, was90]; a series without a spread has the value in all three. past: [{time, value}], what came
// before the first point of the forecast; earlier: points, what had been expected of those times.
export function columnsOf(points, past = [], earlier = []) {
  const begin = points.length ? Date.parse(points[0].time) : Infinity;
  const before = past.filter(({ time }) => Date.parse(time) < begin);
  const seconds = [...before, ...points].map(({ time }) => Date.parse(time) / 1000);
  const none = before.map(() => null);
  const pick = (key) => [...none, ...points.map((point) => point[key] ?? point.value)];
  const ahead = points.map(() => null);
  const expected = before.map(({ time }) => expectedOf(earlier, time));
  const was = (key) => [...expected.map((point) => point && (point[key] ?? point.value)), ...ahead];
  const came = [...before.map(({ value }) => value), ...ahead];
  return [seconds, pick("value"), pick("p10"), pick("p90"), came, was("value"), was("p10"), was("p90")];
}

// What the columns have at place i, in words; format: of a value.
export function readout(columns, i, format) {
  const [seconds, value, low, high, came, was] = columns;
  const range = low[i] !== high[i] ? ` (${format(low[i])} to ${format(high[i])})` : "";
  const parts = [
    came[i] !== null && `came ${format(came[i])}`,
    was[i] !== null && `had been expected ${format(was[i])}`,
    value[i] !== null && `expected ${format(value[i])}${range}`,
  ].filter(Boolean);
  return parts.length ? `${instant(new Date(seconds[i] * 1000).toISOString())}: ${parts.join(", ")}` : "";
}

export const hasSpread = (points) =>
  points.some(({ p10, p90, value }) => (p10 ?? value) !== value || (p90 ?? value) !== value);

// The hour with the lowest value and the one with the highest.
export function extremes(points) {
  const known = points.filter(({ value }) => value !== null);
  if (!known.length) return null;
  const by = (better) => known.reduce((best, point) => (better(point.value, best.value) ? point : best));
  return { lowest: by((a, b) => a < b), highest: by((a, b) => a > b) };
}

// In words; format: of a point.
export function reach({ lowest, highest }, format) {
  const at = (point) => `${format(point)} at ${instant(point.time)}`;
  if (format(lowest) === format(highest)) return `${format(lowest)} in all hours.`;
  return `Lowest ${at(lowest)}, highest ${at(highest)}.`;
}
