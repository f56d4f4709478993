// Plans at other prices: the steps of the sliders, and what a plan says beside another.
import { isPriced, ranked } from "./waterfall.js";

// The prices of the goals are among them, zero too.
export const carbonSteps = [0, 5, 10, 20, 50, 90, 150, 200, 300, 500, 750, 1000, 2000, 5000];
export const waitSteps = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

// The step that is nearest to a price.
export const nearest = (steps, price) =>
  steps.reduce((best, step, i) => (Math.abs(step - price) < Math.abs(steps[best] - price) ? i : best), 0);

const pick = ({ candidates, chosen, chosen_pool: pool }) =>
  candidates.find((each) => each.site === chosen && each.pool === pool) ?? null;

// Where the job would go: the pool that is chosen, or the best one that could ever run it; null: none. `sure`: it would start there.
// without: a site that is left out, as one that drains is.
export function placeOf(plan, without = "") {
  const chosen = pick(plan);
  if (chosen && chosen.site !== without) return { candidate: chosen, sure: true };
  const others = ranked(plan.candidates).filter((each) => each.site !== without && isPriced(each));
  const free = others.find((each) => !each.reason);
  if (free) return { candidate: free, sure: Boolean(without) && Boolean(chosen) };
  return others.length ? { candidate: others[0], sure: false } : null;
}

// Positive: the second costs less.
export const difference = (first, second) =>
  first && second
    ? {
        cost: first.cost_usd - second.cost_usd,
        carbon: first.carbon_g - second.carbon_g,
        energy: first.energy_kwh - second.energy_kwh,
      }
    : null;

// Candidates with figures as points of money and carbon: [{site, pool, x, y}] in the unit square, y upwards.
export function pointsOf(candidates) {
  const priced = candidates.filter(isPriced);
  const x = Math.max(1e-12, ...priced.map((each) => each.cost_usd));
  const y = Math.max(1e-12, ...priced.map((each) => each.carbon_g));
  return priced.map((each) => ({
    site: each.site,
    pool: each.pool,
    open: Boolean(each.reason),
    x: Math.max(0, each.cost_usd) / x,
    y: Math.max(0, each.carbon_g) / y,
  }));
}
