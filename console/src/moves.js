// Who would move if something were so of a site: open jobs, each judged alone with and without it.
import { difference, placeWords } from "./plans.js";

export const MOST = 60; // plans of each kind; what is more is left out, and said

// Jobs as questions: the tasks of an array ask the same, so one of them is judged; but of those that run at a site that is curtailed (each)
// some may be stopped and others not. waiting: those that are queued; running: those at
// the site. left: how many jobs are not among them.
export function questionsOf(jobs, site, each = false) {
  const kinds = { waiting: new Map(), running: new Map() };
  let left = 0;
  for (const job of jobs) {
    const kind = job.state === "queued" ? "waiting" : job.site === site && job.state !== "held" ? "running" : null;
    if (!kind) continue;
    const key = each && kind === "running" ? job.id : `${job.id.split(".")[0]} ${kind}`;
    const known = kinds[kind].get(key);
    if (known) known.count++;
    else if (kinds[kind].size < MOST) kinds[kind].set(key, { job, kind, count: 1 });
    else left++;
  }
  return { questions: [...kinds.waiting.values(), ...kinds.running.values()], left };
}

const where = (place) => place && `${place.candidate.site}/${place.candidate.pool} ${place.sure}`;

// What becomes of one: `moves` if it would go to another place, `starts` if only the time of its start is another.
export function moveOf({ job, kind, count }, before, after, stops = false) {
  if (kind === "running") return { job, kind, count, from: null, to: after, change: null, fate: stops ? "stopped" : "runs" };
  const fate = where(before) !== where(after) ? "moves" : placeWords(before) !== placeWords(after) ? "starts" : "stays";
  return { job, kind, count, from: before, to: after, change: difference(before?.candidate, after?.candidate), fate };
}

const order = ["stopped", "moves", "starts", "runs", "stays"];
export const inOrder = (moves) =>
  [...moves].sort((a, b) => order.indexOf(a.fate) - order.indexOf(b.fate) || b.count - a.count || a.job.id.localeCompare(b.job.id));

// Jobs, tasks counted, by fate.
export function countsOf(moves) {
  const counts = { stopped: 0, moves: 0, starts: 0, runs: 0, stays: 0 };
  for (const { fate, count } of moves) counts[fate] += count;
  return counts;
}
