// How many jobs wait for each reason, the most common one first.
export function reasonsOf(jobs) {
  const counts = new Map();
  for (const { state, reason } of jobs) {
    const word = reason ?? "Queued";
    if (state === "queued" || state === "held") counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}
