// What /v1/history says of one moment, in the form of the sites and arcs of now.
const AWAY_MS = 3600000;

// The sites as they were at step i. One that sent nothing then was silent, as far as anybody knows, and offered nothing.
export function sitesAt(sites, history, i) {
  const then = new Map(history.sites.map((each) => [each.site, each]));
  return sites.map((site) => {
    const was = then.get(site.site);
    const total = was?.gpus_total[i] ?? null;
    return {
      ...site,
      state: total === null ? "silent" : "ready",
      draining: false,
      gpus_total: total ?? 0,
      gpus_free: was?.gpus_free[i] ?? 0,
      jobs_running: was?.jobs_running[i] ?? 0,
      jobs_queued: null,
      power_watts: was?.power_watts[i] ?? null,
      carbon_g_per_kwh: was?.carbon_g_per_kwh[i] ?? null,
      price_usd_per_gpu_h: null,
      pue: null,
      last_seen: null,
    };
  });
}

// The jobs that were placed away from home in the hour before step i: [{home_site, site, started_at, count}].
export function awayAt(history, i) {
  const until = Date.parse(history.times[i]);
  return history.away
    .filter(({ time }) => Date.parse(time) <= until && Date.parse(time) > until - AWAY_MS)
    .map(({ time, from, to, jobs }) => ({ home_site: from, site: to, started_at: time, count: jobs }));
}
