-- Two weeks of three teams, for the pages: what their jobs used and would have used by both baselines, and the last 24 hours of the
-- sites. Written as the broker writes it; the sums by day follow by the triggers.
create temporary table team as
select * from (values ('demo', 1.0, 'lulea'), ('robotics', 2.2, 'frankfurt'), ('genomics', 0.6, 'brisbane')) t (tenant, size, home);
create temporary table ran as
select ('0199c0de-0000-7000-8000-' || lpad((d * 100 + n)::text, 12, '0'))::uuid as job_id, t.tenant, t.home, t.size * (1 + (d * 7 + n * 3) % 5) as size,
    date_trunc('day', now(), 'UTC') - d * interval '1 day' + interval '1 minute' * n as at, d, n
from team t cross join generate_series(0, 13) d cross join generate_series(1, 3) k
cross join lateral (select k + 10 * (select count(*) from team o where o.tenant < t.tenant)::int as n) x
where (d + k) % 6 <> 0;

insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue, provenance)
select job_id, -1, 1, date_trunc('hour', at, 'UTC'), (size * 28800000)::int8, (size * 36000000)::int8, (size * 900000)::int8, (size * 9000000)::int8, false,
    tenant, 'lulea', 'standard', case when n % 10 = 1 then 'measured' else 'model' end from ran;
insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_site, home_energy_j,
    home_carbon_mg, home_cost_micro_usd, home_carbon_kind, least_site, least_wait_ms, least_energy_j, least_carbon_mg, least_cost_micro_usd,
    least_carbon_kind, estimated)
select job_id, -1, tenant, at, 3600000, (size * 600000)::int8, (size * 36000000)::int8, (size * 900000)::int8, (size * 9000000)::int8,
    home, (size * 37000000)::int8, (size * (case d % 7 when 3 then 700000 else 3100000 + 90000 * d end))::int8, (size * (8000000 + 400000 * (n % 7)))::int8,
    case when d = 13 and n = 1 then 'marginal' else 'average lifecycle' end, 'paris', 30000,
    (size * 36500000)::int8, (size * 1700000)::int8, (size * 10500000)::int8, 'average lifecycle', n = 2
from ran;

insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus, jobs_running,
    jobs_queued, site_power_w)
select p.site, p.pool, date_trunc('minute', now()) - m * interval '1 minute', p.nodes, p.nodes * 8, u.used, p.nodes * 8 - u.used, 0, 8, u.used / 2, 0,
    1000 + 700 * u.used
from helio.pools p cross join generate_series(20, 1440, 5) m
cross join lateral (select (p.nodes * 8 * (1 + sin((m + length(p.site) * 60) / 180.0)) / 2)::int as used) u
where p.site <> 'brisbane' or m not between 300 and 420
on conflict do nothing;
insert into helio.actuals (site, pool, signal, hour, value, kind, factor, source, estimated, issued_at)
select s.site, '', 3, date_trunc('hour', now(), 'UTC') - h * interval '1 hour',
    b.grams * (1 + 0.3 * sin((h + length(s.site)) / 4.0)), 'average', null, 'by-hour', false, now()
from helio.sites s cross join generate_series(1, 26) h
join (values ('lulea', 55), ('frankfurt', 300), ('amsterdam', 350), ('paris', 75), ('virginia', 390), ('brisbane', 720)) b (site, grams) using (site)
on conflict (site, signal, pool, hour) do update set value = excluded.value;

-- What operators did yesterday: virginia was drained for four hours.
insert into helio.audit (at, actor, action, object, detail)
select date_trunc('hour', now(), 'UTC') - h * interval '1 hour', 'user:demo/ops', action, 'virginia', 'new switches'
from (values (14, 'drain'), (10, 'undrain')) d (h, action) order by h desc;

-- Paris was curtailed for four of these hours. Of each site's carbon intensity something else was expected than came.
insert into helio.curtailments
select 'paris', at - interval '1 hour', at, at + interval '4 hours', 70, 'evening peak', 'user:demo/ops', null, at, 5000, 3100, 0, 1, 900000
from (select date_trunc('hour', now(), 'UTC') - interval '20 hours' as at) t;
insert into helio.series (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s, "values", p10, p90)
select n.site, '', 3, n.kind, n.factor, n.source, false, h.at, h.at, 3600, array_agg(b.value * 1.1 order by i), array_agg(b.value * 0.9 order by i),
    array_agg(b.value * 1.3 order by i)
from helio.series_now n
cross join (select date_trunc('hour', now(), 'UTC') - interval '26 hours' as at) h
cross join lateral (select a.value, row_number() over (order by a.hour) as i from helio.actuals a
                    where a.site = n.site and a.signal = 3 and a.pool = '' and a.hour >= h.at) b
where n.signal = 3 and n.pool = ''
group by n.site, n.kind, n.factor, n.source, h.at;
