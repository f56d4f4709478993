// The states of a job, in groups that share a colour and a sign; a sign, since colour alone does not tell them apart.
const groups = {
  waits: { sign: "○", states: ["queued", "held"] },
  begins: { sign: "◔", states: ["offered", "accepted", "starting"] },
  runs: { sign: "●", states: ["running"] },
  doubt: { sign: "◐", states: ["suspended", "stopping", "suspect"] },
  good: { sign: "✓", states: ["succeeded"] },
  bad: { sign: "✕", states: ["failed", "timeout", "cancelled", "lost"] },
};
const byState = Object.fromEntries(
  Object.entries(groups).flatMap(([name, { states }]) => states.map((state) => [state, name])),
);

export const groupOf = (state) => byState[state] ?? "doubt";
export const signOf = (state) => groups[groupOf(state)].sign;
export const isOver = (state) => ["good", "bad"].includes(groupOf(state));
export const OPEN = Object.values(groups)
  .flatMap(({ states }) => states)
  .filter((state) => !isOver(state));
export const ENDED = [...groups.good.states, ...groups.bad.states];

// The jobs that can be edited, an array as a whole.
export const editable = (jobs) => [
  ...new Set(jobs.filter(({ state }) => state === "queued" || state === "held").map(({ id }) => id.split(".")[0])),
];

// The body of an edit, from what was typed.
export const editOf = ({ priority, goal, flexible }) => ({
  ...(priority ? { priority: Number(priority) } : {}),
  ...(goal ? { goal } : {}),
  ...(flexible ? { flexible } : {}),
});
