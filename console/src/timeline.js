// A job's history as spans of states.
import { isOver } from "./states.js";

// history: transitions in order. Returns [{state, epoch, from, to}] in ms; the last one lasts until `now` unless the
// job is over.
export function spansOf(submitted, history, now) {
  const spans = [{ state: "queued", epoch: 0, from: Date.parse(submitted), to: null }];
  for (const { time, to, epoch } of history) {
    const at = Date.parse(time);
    const last = spans.at(-1);
    if (last.state === to) continue; // an edit leads from a state to itself
    last.to = at;
    spans.push({ state: to, epoch, from: at, to: null });
  }
  const last = spans.at(-1);
  last.to = isOver(last.state) ? last.from : Math.max(now, last.from);
  return spans;
}

const LEAST = 0.006; // of the width: a span of no length is still seen

// The share of the width that each span gets.
export function widths(spans) {
  const lengths = spans.map(({ from, to }) => Math.max(0, to - from));
  const whole = lengths.reduce((sum, length) => sum + length, 0) || 1;
  const shares = lengths.map((length) => Math.max(LEAST, length / whole));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}
