// Plans at other prices: the steps of the sliders, and what a plan says beside another.
import { query, request } from "./api.js";
import { instant } from "./format.js";
import { valuesOf } from "./supposed.js";
import { isPriced, ranked } from "./waterfall.js";

// The prices of the goals are among them, zero too.
export const carbonSteps = [0, 5, 10, 20, 50, 90, 150, 200, 300, 500, 750, 1000, 2000, 5000];
export const waitSteps = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

// The step that is nearest to a price.
export const nearest = (steps, price) =>
  steps.reduce((best, step, i) => (Math.abs(step - price) < Math.abs(steps[best] - price) ? i : best), 0);

// The plan of a job that exists, or of a job file.
export async function askPlan({ id, text, prices, supposed, signal }) {
  const search = query({ ...prices, ...valuesOf(supposed) });
  if (id) return (await request(`jobs/${encodeURIComponent(id)}/plan${search}`, { signal })).json();
  return (await request(`plans${search}`, { method: "POST", text, signal })).json();
}

// Where the job would go: the pool that is chosen, or the best one that could ever run it; null: none. `sure`: it would start there.
export function placeOf({ candidates, chosen, chosen_pool: pool }) {
  const mine = candidates.find((each) => each.site === chosen && each.pool === pool);
  if (mine) return { candidate: mine, sure: true };
  const others = ranked(candidates).filter((each) => isPriced(each) && each.reason !== "Draining");
  return others.length ? { candidate: others[0], sure: false } : null;
}

export const startOf = ({ start }) => (start && new Date(start) > Date.now() + 60000 ? instant(start) : "now");
export const placeWords = (place) =>
  place ? `${place.candidate.site}, ${place.sure ? startOf(place.candidate) : "when there is room"}` : "nowhere";

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

// What the ends of the square stand for.
export function endsOf(candidates) {
  const priced = candidates.filter(isPriced);
  return { cost: Math.max(...priced.map((each) => each.cost_usd)), carbon: Math.max(...priced.map((each) => each.carbon_g)) };
}
