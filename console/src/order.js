// Jobs in the order in which they are considered. Those that wait for room have a place, which the broker says (/v1/order): it counts the guarantees
// and shares of their tenants, and what each gets before. Behind them are the others that wait, for something else: by tier, by the priority of
// the queue, then by the tenant's own priority and age.
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

// Of an answer of /v1/order: {of: each job's place and why it is before the next of another tenant, next: the first turns}.
export function placesOf(order) {
  const of = new Map();
  const shares = new Map((order?.tenants ?? []).map((share) => [share.tenant, share]));
  for (const { position, tenant, why, ids } of order?.order ?? [])
    ids.forEach((id, i) => of.set(id, { place: position + i, why, share: shares.get(tenant) ?? null }));
  return of;
}

// What puts the first of `turn` before the next, in words.
const because = {
  tier: () => "its queue is of a higher tier than that of the next",
  priority: () => "its queue has a higher priority than that of the next",
  guarantee: ({ tenant }) => `${tenant} has less than it is guaranteed`,
  share: ({ tenant }) => `${tenant} has used the least for its weight`,
  age: () => "it has waited the longest of its equals",
  last: () => "nobody else waits for room",
};
export const whyFirst = (turn) => (because[turn.why] ?? (() => ""))(turn);

export function inOrder(jobs, queues, places = new Map()) {
  const priorities = new Map(queues.map(({ queue, priority }) => [queue, priority]));
  const placed = jobs.filter(({ id, state }) => states.includes(state) && places.has(id)).sort((a, b) => places.get(a.id).place - places.get(b.id).place);
  const waiting = jobs.filter(({ id, state }) => states.includes(state) && !places.has(id));
  const key = ({ state, tier, queue }) => [placeIn(states, state), placeIn(tiers, tier), -(priorities.get(queue) ?? -1e9), queue];
  const first = groupsOf(waiting, (job) => key(job).join(" "))
    .map((group) => ({ group, key: key(group[0]) }))
    .sort((a, b) => a.key.reduce((found, each, i) => found || compare(each, b.key[i]), 0));
  const others = jobs.filter(({ state }) => !states.includes(state)).sort(byAge);
  return [...placed, ...first.flatMap(({ group }) => merged(group)), ...others];
}
