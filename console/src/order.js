// Jobs in the order in which they are considered, as far as a list can say it: those that wait first; by tier, by the priority of the queue, then
// by the tenant's own priority and age. Of two tenants in one queue the one whose first job is older comes first; the broker counts their
// guarantees and shares before that, and `explain` has what is ahead of a job.
const tiers = ["critical", "standard", "best-effort"];
const states = ["queued", "held"];
const placeIn = (list, value) => (list.includes(value) ? list.indexOf(value) : list.length);

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byAge = (a, b) => compare(a.submitted_at, b.submitted_at) || compare(a.id, b.id);
const byPriority = (a, b) => b.priority - a.priority || byAge(a, b);

const groupsOf = (jobs, keyOf) => {
  const groups = new Map();
  for (const job of jobs) {
    const key = keyOf(job);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(job);
  }
  return [...groups.values()];
};

// The jobs of one queue: each tenant's in its own order, and the next of all is the oldest that is first of its tenant.
function merged(jobs) {
  const teams = groupsOf(jobs, ({ tenant }) => tenant).map((own) => ({ own: own.sort(byPriority), at: 0 }));
  return jobs.map(() => {
    const left = teams.filter(({ own, at }) => at < own.length);
    const next = left.reduce((a, b) => (byAge(b.own[b.at], a.own[a.at]) < 0 ? b : a));
    return next.own[next.at++];
  });
}

export function inOrder(jobs, queues) {
  const priorities = new Map(queues.map(({ queue, priority }) => [queue, priority]));
  const waiting = jobs.filter(({ state }) => states.includes(state));
  const key = ({ state, tier, queue }) => [placeIn(states, state), placeIn(tiers, tier), -(priorities.get(queue) ?? -1e9), queue];
  const first = groupsOf(waiting, (job) => key(job).join(" "))
    .map((group) => ({ group, key: key(group[0]) }))
    .sort((a, b) => a.key.reduce((found, each, i) => found || compare(each, b.key[i]), 0));
  const others = jobs.filter(({ state }) => !states.includes(state)).sort(byAge);
  return [...first.flatMap(({ group }) => merged(group)), ...others];
}
