// The baselines of /v1/report as sums by day and by team. Nothing is computed but sums: what was saved comes from the broker.
import { carbon, duration, energy, money } from "./format.js";

export const baselines = {
  home: { title: "home", says: "an immediate start at each job's home site" },
  "least-wait": { title: "least wait", says: "a start where each job could have started first" },
};

export const quantities = {
  carbon: { title: "CO₂e", key: "carbon_g", text: carbon, steps: [1, 1000, 1e6], units: ["g", "kg", "t"] },
  cost: { title: "Cost", key: "cost_usd", text: money, steps: [1], units: ["$"] },
  energy: { title: "Energy", key: "energy_kwh", text: energy, steps: [0.001, 1, 1000], units: ["Wh", "kWh", "MWh"] },
  wait: { title: "Waiting", key: "wait_seconds", text: duration, steps: [1, 60, 3600, 86400], units: ["s", "min", "h", "d"] },
};

// The kinds of intensity, the one of most jobs first. Grams of two kinds are never added.
export function kindsOf(lines) {
  const jobs = new Map();
  for (const { carbon_kind: kind, jobs: count } of lines) if (kind) jobs.set(kind, (jobs.get(kind) ?? 0) + count);
  return [...jobs].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([kind]) => kind);
}

// The lines that count for a quantity.
export const counted = (lines, of, kind) =>
  of === "carbon" ? lines.filter((line) => line.carbon_kind && line.carbon_kind === kind) : lines;

// Of what was used in these days: the shares of the energy that was measured and of that whose intensity is estimated (null: no energy), and the
// hours of attempts whose end nobody saw.
export function estimatedOf(usage) {
  const energy = usage.reduce((sum, line) => sum + line.energy_kwh, 0);
  const part = (key) => (energy > 0 ? usage.reduce((sum, line) => sum + line.energy_kwh * (line[key] ?? 0), 0) / energy : null);
  const seconds = usage.reduce((sum, line) => sum + line.estimated_gpu_seconds, 0);
  return { measured: part("measured_ratio"), estimated: part("carbon_estimated_ratio"), gpuHours: seconds / 3600 };
}

// The lines of one team; "": of all.
export const ofTeam = (lines, team) => (team ? lines.filter(({ tenant }) => tenant === team) : lines);

const nothing = () => ({ used: 0, would: 0, saved: 0, jobs: 0, estimated: 0 });

// {used, would, saved, jobs, estimated} of each baseline; null: no line.
export function sumsOf(lines, key) {
  const sums = { home: null, "least-wait": null };
  for (const line of lines) {
    const sum = (sums[line.baseline] ??= nothing());
    sum.used += line[`used_${key}`] ?? 0;
    sum.would += line[`baseline_${key}`] ?? 0;
    sum.saved += line[`saved_${key}`] ?? 0;
    sum.jobs += line.jobs;
    sum.estimated += line.jobs_estimated;
  }
  return sums;
}

const grouped = (lines, by) => {
  const groups = new Map();
  for (const line of lines) {
    if (!groups.has(line[by])) groups.set(line[by], []);
    groups.get(line[by]).push(line);
  }
  return groups;
};

const DAY = 86400000;

// One entry for each of the last `days` days (UTC), the oldest first: {day, home, "least-wait"}.
export function byDay(lines, key, days, now) {
  const groups = grouped(lines, "day");
  const today = Math.floor(now / DAY);
  return Array.from({ length: days }, (_, i) => {
    const day = new Date((today - days + 1 + i) * DAY).toISOString().slice(0, 10);
    return { day, ...sumsOf(groups.get(day) ?? [], key) };
  });
}

// The teams, the one that saved most against `baseline` first.
export function byTeam(lines, key, baseline) {
  return [...grouped(lines, "tenant")]
    .map(([tenant, own]) => ({ tenant, ...sumsOf(own, key) }))
    .sort(
      (a, b) => (b[baseline]?.saved ?? -Infinity) - (a[baseline]?.saved ?? -Infinity) || a.tenant.localeCompare(b.tenant),
    );
}

// The unit in which the largest of the values is easy to read: {factor, unit}.
export function scaleOf(values, { steps, units }) {
  const most = Math.max(0, ...values.map((value) => Math.abs(value ?? 0)));
  const at = Math.max(0, steps.findLastIndex((step) => most >= step));
  return { factor: steps[at], unit: units[at] };
}

// "41 %" of what it would have been, less or more; "" where that is nothing.
export const shareSaved = ({ saved, would }) => (would > 0 ? `${Math.round((100 * Math.abs(saved)) / would)} %` : "");

// How many digits after the point tell two ticks apart that are `step` apart.
export const digitsOf = (step) => [0, 1, 2, 3, 4].find((digits) => Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) < 1e-6 * 10 ** digits) ?? 5;
