// The terms of a candidate's score as steps from zero to the score, and what a choice saves against another candidate.
export const terms = [
  ["money", "Money"],
  ["carbon", "Carbon"],
  ["wait", "Wait"],
  ["risk", "Risk"],
  ["shadow", "Shadow price"],
  ["disruption", "Disruption"],
  ["transfer", "Data transfer"],
];

// A pool that can never run the job has zeros for figures.
export const isPriced = ({ score_usd: score, cost_usd: cost, reason }) =>
  score !== null && (!reason || score !== 0 || cost !== 0);

// [{id, title, value, from, to}] in USD; terms of zero are left out.
export function stepsOf(candidate) {
  let at = 0;
  return terms
    .filter(([id]) => candidate.terms?.[id])
    .map(([id, title]) => {
      const from = at;
      at += candidate.terms[id];
      return { id, title, value: candidate.terms[id], from, to: at };
    });
}

// The range of money that all of them need: [least, most], zero included.
export function rangeOf(candidates) {
  const ends = candidates.flatMap(stepsOf).flatMap(({ from, to }) => [from, to]);
  return [Math.min(0, ...ends), Math.max(0, ...ends, 1e-9)];
}

const MANY_TIMES = 4;

// The range that is drawn: what costs many times as much as most is cut, so that the others can be told apart. [least, most]; whose `to` lies beyond
// `most` is longer than shown.
export function shownRange(candidates) {
  const [least, most] = rangeOf(candidates);
  const tops = candidates.map((each) => Math.max(0, ...stepsOf(each).map(({ to }) => to))).filter((top) => top > 0);
  tops.sort((a, b) => a - b);
  const usual = tops[Math.floor((tops.length - 1) / 2)];
  const kept = tops.filter((top) => top <= MANY_TIMES * usual);
  if (tops.length < 3 || kept.length === tops.length) return [least, most];
  return [least, 1.15 * kept.at(-1)];
}

// Those that can run it by score, then those that cannot now, then those that never can.
export function ranked(candidates) {
  const tier = (each) => (isPriced(each) ? Number(Boolean(each.reason)) : 2);
  const name = ({ site, pool }) => `${site}/${pool}`;
  return [...candidates].sort(
    (a, b) => tier(a) - tier(b) || (tier(a) < 2 ? a.score_usd - b.score_usd : 0) || name(a).localeCompare(name(b)),
  );
}

// The plan of the chosen pool beside that of another site: positive is saved. null: one of the two is not known.
export function savedAgainst(candidates, chosen, site) {
  const mine = candidates.find((each) => each.site === chosen?.site && each.pool === chosen?.pool);
  const others = candidates.filter((each) => each.site === site && isPriced(each));
  if (!mine || !isPriced(mine) || site === chosen.site || others.length === 0) return null;
  const other = ranked(others)[0];
  return {
    site,
    cost: other.cost_usd - mine.cost_usd,
    carbon: other.carbon_g - mine.carbon_g,
    energy: other.energy_kwh - mine.energy_kwh,
  };
}
