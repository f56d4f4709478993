const RECENT_MS = 3600000;

// One arc for each pair of home and site, as wide as the number of jobs.
export function arcsOf(jobs, sites, now) {
  const places = new Map(
    sites.filter((s) => s.latitude !== null && s.longitude !== null).map((s) => [s.site, [s.longitude, s.latitude]]),
  );
  const counts = new Map();
  for (const { home_site: home, site, started_at: at, count = 1 } of jobs) {
    if (!at || now - new Date(at) > RECENT_MS || home === site || !places.has(home) || !places.has(site)) continue;
    const key = `${home} ${site}`;
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return [...counts].map(([key, count]) => {
    const [home, site] = key.split(" ");
    return { key, home, site, count, line: { type: "LineString", coordinates: [places.get(home), places.get(site)] } };
  });
}
