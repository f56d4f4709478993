// The condition of a site, and its curtailments, as words.
import { duration, instant, number, power } from "./format.js";

const signs = { ready: ["good", "✓"], silent: ["bad", "✕"], draining: ["doubt", "◐"], curtailed: ["doubt", "◒"] };
const toPercent = (percent) => `curtailed to ${number(percent)} %`;

// [{word, group, sign}], what matters most first: a site that is ready and curtailed is not simply ready.
export function conditionsOf({ state, draining, curtailed_to_percent: percent }) {
  const limited = percent !== null && percent !== undefined;
  const first = draining ? "draining" : state;
  const words = first === "ready" && limited ? [] : [first];
  return [...words, ...(limited ? ["curtailed"] : [])].map((word) => {
    const [group, sign] = signs[word] ?? ["doubt", "◐"];
    return { word: word === "curtailed" ? toPercent(percent) : word, group, sign };
  });
}

export const conditionWords = (site) => conditionsOf(site).map(({ word }) => word).join(", ");

const states = { scheduled: "scheduled", in_force: "in force", over: "over", ended: "ended early" };
export const stateWords = (state) => states[state] ?? state;
export const isAhead = ({ state }) => state === "scheduled" || state === "in_force";

// Those that are in force or to come first, the next one at the top; then the others, the newest first.
export function inOrder(curtailments) {
  const key = (each) => (isAhead(each) ? Date.parse(each.from) : -Date.parse(each.from));
  return [...curtailments].sort((a, b) => isAhead(b) - isAhead(a) || key(a) - key(b));
}

// What it limits, and what is used: known once it has begun.
export function powerWords({ limit_watts: limit, full_watts: full, used_watts: used }) {
  if (limit === null) return { limit: "–", used: "–" };
  return { limit: `${power(limit)} of ${power(full)}`, used: power(used) };
}

// The times of a list with one value for each, in which the value was the same and not null: [{value, from, to}]; to: null if it still is.
export function spansOf(values, times) {
  const spans = [];
  values.forEach((value, i) => {
    const last = spans.at(-1);
    if (last && last.to === null && last.value !== value) last.to = times[i];
    if (value !== null && value !== undefined && (!last || last.to !== null)) spans.push({ value, from: i ? times[i] : null, to: null });
  });
  return spans;
}

export const wasCurtailed = ({ value, from, to }) =>
  `It was ${toPercent(value)} ${from ? `from ${instant(from)}` : "from before these hours"} ${to ? `to ${instant(to)}` : "until now"}.`;

// The body of the command, from what was typed; begin: a time of the field, read as UTC, or "".
export function orderOf({ percent, hours, begin, reason }) {
  const order = { to_percent: Number(percent), for_s: Math.round(Number(hours) * 3600), reason };
  return begin ? { ...order, at: `${begin.slice(0, 16)}:00Z` } : order;
}

export const lostWords = ({ jobs_stopped: jobs, lost_gpu_s: seconds }) => (jobs ? `${number(jobs)}, ${duration(seconds)}` : number(jobs));
