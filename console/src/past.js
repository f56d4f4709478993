// What /v1/history says of one moment, in the form of the sites and arcs of now.
const AWAY_MS = 3600000;

// The sites as they were at step i. One that sent nothing then was silent, as far as anybody knows, and offered nothing.
export function sitesAt(sites, history, i) {
  const then = new Map(history.sites.map((each) => [each.site, each]));
  return sites.map((site) => {
    const was = then.get(site.site);
    const total = was?.gpus_total[i] ?? null;
    const draining = was?.draining[i] ?? false;
    return {
      ...site,
      state: draining ? "draining" : total === null ? "silent" : "ready",
      draining,
      curtailed_to_percent: was?.curtailed_to_percent[i] ?? null,
      curtailed_until: null,
      gpus_total: total ?? 0,
      gpus_free: was?.gpus_free[i] ?? 0,
      jobs_running: was?.jobs_running[i] ?? 0,
      jobs_queued: null,
      power_watts: was?.power_watts[i] ?? null,
      carbon_g_per_kwh: was?.carbon_g_per_kwh[i] ?? null,
      price_usd_per_gpu_h: was?.price_usd_per_gpu_h[i] ?? null,
      pue: null,
      last_seen: null,
    };
  });
}

// The step of a time, at most the last one before now; null: it is older than the history, or none.
export function stepOf({ times }, text) {
  const time = Date.parse(text);
  const step = times.findIndex((each) => Date.parse(each) >= time);
  return Number.isNaN(time) || step < 0 || time < Date.parse(times[0]) - 3600000 ? null : step;
}

// The jobs that were placed away from home in the hour before step i: [{home_site, site, started_at, count}].
export function awayAt(history, i) {
  const until = Date.parse(history.times[i]);
  return history.away
    .filter(({ time }) => Date.parse(time) <= until && Date.parse(time) > until - AWAY_MS)
    .map(({ time, from, to, jobs }) => ({ home_site: from, site: to, started_at: time, count: jobs }));
}

// When it was drained: [{from, to}], as steps of the history; to: null if it still is at the last.
export function drainsOf({ draining }, times) {
  const spans = [];
  draining.forEach((drained, i) => {
    const last = spans.at(-1);
    if (drained && (!last || last.to !== null)) spans.push({ from: i ? times[i] : null, to: null });
    else if (!drained && last?.to === null) last.to = times[i];
  });
  return spans;
}
