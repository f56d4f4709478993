// Forecast series of the API as columns of a plot.
import { instant } from "./format.js";

export const signals = {
  carbon_g_per_kwh: { title: "Carbon intensity", unit: "g/kWh", digits: 0 },
  electricity_usd_per_kwh: { title: "Electricity", unit: "$/kWh", digits: 3 },
  price_usd_per_gpu_h: { title: "Price", unit: "$/GPU h", digits: 2 },
  reserved_gpus: { title: "Reserved GPUs", unit: "GPUs", digits: 0 },
  free_gpus: { title: "Free GPUs", unit: "GPUs", digits: 0 },
  pue: { title: "PUE", unit: "", digits: 2 },
  power_watts: { title: "Power", unit: "W", digits: 0 },
};

// [seconds, value, p10, p90, came]; a series without a spread has the value in all three. past: [{time, value}], what came before the first
// point of the forecast.
export function columnsOf(points, past = []) {
  const begin = points.length ? Date.parse(points[0].time) : Infinity;
  const before = past.filter(({ time }) => Date.parse(time) < begin);
  const seconds = [...before, ...points].map(({ time }) => Date.parse(time) / 1000);
  const none = before.map(() => null);
  const pick = (key) => [...none, ...points.map((point) => point[key] ?? point.value)];
  return [seconds, pick("value"), pick("p10"), pick("p90"), [...before.map(({ value }) => value), ...points.map(() => null)]];
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
