// Quotas of /v1/quotas as bars: what a team holds beside what it may.

// Of each team its row for all queues together, and those of single queues. "*": every team without a value of its own.
export function teamsOf(rows) {
  const teams = new Map();
  for (const row of rows) {
    if (!teams.has(row.tenant)) teams.set(row.tenant, { tenant: row.tenant, whole: null, queues: [] });
    const team = teams.get(row.tenant);
    if (row.queue === null) team.whole = row;
    else team.queues.push(row);
  }
  return [...teams.values()];
}

// The end of the scale: the most that it may hold or holds.
export const scaleEnd = ({ guaranteed_gpus: guaranteed, burst_gpus: burst, gpus_in_use: used }) =>
  Math.max(guaranteed, burst ?? 0, used, 1);

// Its share of the GPU hours of the past day, and the share that its weight stands for, of the teams in the list that used any or
// hold something now; null: nobody did.
export function sharesOf(teams) {
  const active = teams.filter(
    ({ tenant, whole }) => tenant !== "*" && whole && (whole.gpu_hours_day > 0 || whole.gpus_in_use > 0),
  );
  const sum = (of) => active.reduce((total, { whole }) => total + of(whole), 0);
  const hours = sum((whole) => whole.gpu_hours_day);
  const weights = sum((whole) => whole.weight ?? 0);
  return new Map(
    active.map(({ tenant, whole }) => [
      tenant,
      { used: hours > 0 ? whole.gpu_hours_day / hours : null, due: weights > 0 ? (whole.weight ?? 0) / weights : null },
    ]),
  );
}

// {spent, promised, over} as shares of the budget.
export function budgetParts({ budget, used, committed }) {
  const whole = Math.max(budget, used + committed, 1e-12);
  return { spent: Math.max(0, used) / whole, promised: Math.max(0, committed) / whole, limit: budget / whole, over: used + committed > budget };
}

// Those that hold most first, and the rule for all others last.
export const ordered = (teams) =>
  [...teams].sort(
    (a, b) =>
      (a.tenant === "*") - (b.tenant === "*") ||
      (b.whole?.gpus_in_use ?? 0) - (a.whole?.gpus_in_use ?? 0) ||
      (b.whole?.gpu_hours_day ?? 0) - (a.whole?.gpu_hours_day ?? 0) ||
      a.tenant.localeCompare(b.tenant),
  );
