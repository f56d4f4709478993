-- The read contract for dashboards. Columns are only ever added, at the end. `time` where it is a series; units in names;
-- null = not known. The views read with their owner's rights, so that a reader needs none on schema helio.

create or replace view helio_report.fleet_now as
select p.site, p.region, p.backend,
    case when p.draining then 'draining' else helio.site_state_word(p.state) end as state,
    s.seen_at as last_seen, p.pool, p.gpu_model, coalesce(p.gpus_total, 0) as gpus_total,
    coalesce(p.gpus_free, 0) as gpus_free, coalesce(p.gpus_reserved, 0) as gpus_reserved,
    coalesce(p.jobs_running, 0) as jobs_running, coalesce(p.jobs_queued, 0) as jobs_queued, s.carbon_g_per_kwh,
    p.price_usd_per_gpu_h, s.pue, s.latitude, s.longitude, coalesce(p.gpus_allocated, 0) as gpus_allocated,
    s.power_w as site_power_watts
from helio.pools_now p join helio.sites_now s using (site);
comment on view helio_report.fleet_now is 'One row per site and pool: what it is, and its newest figures.';

create or replace view helio_report.site_capacity as
select c.at as time, c.site, c.pool, p.gpu as gpu_model, c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved,
    c.largest_block_gpus, c.nodes_up, c.jobs_running, c.jobs_queued
from helio.capacity_samples c left join helio.pools p using (site, pool);
comment on view helio_report.site_capacity is 'A sample a minute per site and pool.';
comment on column helio_report.site_capacity.largest_block_gpus is 'The largest gang that would have fitted.';

-- The carbon figure of a sample is the one that was known then: the last issue that covers the moment.
create or replace view helio_report.site_energy as
select c.at as time, c.site, nullif(c.power_watts, -1) as power_watts, null::double precision as gpu_power_watts, s.pue,
    coalesce(k.value, case when s.carbon_g_per_kwh >= 0 then s.carbon_g_per_kwh end) as carbon_g_per_kwh,
    k.kind as carbon_kind, coalesce(k.source, 'site file') as carbon_source, coalesce(k.estimated, true) as carbon_estimated
from (select site, at, max(site_power_w) as power_watts from helio.capacity_samples group by site, at) c
join helio.sites s using (site)
left join lateral (
    select i."values"[1 + floor(date_part('epoch', c.at - i.start_at) / i.step_s)::integer] as value,
        nullif(i.kind, '') as kind, i.source, i.estimated
    from helio.series i
    where i.site = c.site and i.signal = 3 and i.issued_at <= c.at and c.at >= i.start_at
      and c.at < i.start_at + make_interval(secs => i.step_s::float8 * cardinality(i."values"))
    order by i.issued_at desc, i.kind <> 'average' limit 1
) k on true;
comment on view helio_report.site_energy is 'Draw and carbon intensity of each site, a sample a minute.';
comment on column helio_report.site_energy.gpu_power_watts is 'Null: not reported apart from the site''s draw yet.';

create or replace view helio_report.site_price as
select c.at as time, c.site, c.pool,
    coalesce(k.value, case when p.owned then coalesce(e.value, s.electricity_usd_per_kwh) * s.pue
            * (p.host_w + p.base_w + p.slope_w) / 1000
        else p.price_usd_per_gpu_h end) as price_usd_per_gpu_h,
    coalesce(e.value, s.electricity_usd_per_kwh) as electricity_usd_per_kwh
from helio.capacity_samples c
join helio.sites s using (site)
join helio.pools p using (site, pool)
left join lateral (
    select i."values"[1 + floor(date_part('epoch', c.at - i.start_at) / i.step_s)::integer] as value
    from helio.series i
    where i.site = c.site and i.signal = 1 and i.pool in (c.pool, '') and i.issued_at <= c.at and c.at >= i.start_at
      and c.at < i.start_at + make_interval(secs => i.step_s::float8 * cardinality(i."values"))
    order by i.issued_at desc, i.pool = '' limit 1
) k on true
left join lateral (
    select i."values"[1 + floor(date_part('epoch', c.at - i.start_at) / i.step_s)::integer] as value
    from helio.series i
    where i.site = c.site and i.signal = 2 and i.issued_at <= c.at and c.at >= i.start_at
      and c.at < i.start_at + make_interval(secs => i.step_s::float8 * cardinality(i."values"))
    order by i.issued_at desc limit 1
) e on true;
comment on view helio_report.site_price is
    'What a GPU-hour cost: rent, or for owned pools the electricity of a GPU at full use.';

create or replace view helio_report.forecast_latest as
select n.start_at + make_interval(secs => (i - 1)::float8 * n.step_s) as time, n.site, helio.signal_word(n.signal) as signal,
    n.issued_at, n."values"[i] as value, n.p10[i] as p10, n.p90[i] as p90, nullif(n.pool, '') as pool,
    nullif(n.kind, '') as kind, n.source, n.estimated
from helio.series_now n cross join lateral generate_series(1, cardinality(n."values")) as i;
comment on view helio_report.forecast_latest is 'Every point of each series as it was issued last.';

-- The truth about an hour is what was last issued about it once it had begun.
create or replace view helio_report.forecast_error as
select f.time, f.site, helio.signal_word(f.signal) as signal, f.horizon_h, abs(f.value - a.value) as absolute_error,
    abs(f.value - a.value) / nullif(abs(a.value), 0) as ape_ratio, nullif(f.pool, '') as pool, f.issued_at
from (
    select i.site, i.pool, i.signal, i.kind, i.issued_at,
        i.start_at + make_interval(secs => (n - 1)::float8 * i.step_s) as time, i."values"[n] as value,
        floor(date_part('epoch', i.start_at + make_interval(secs => (n - 1)::float8 * i.step_s) - i.issued_at) / 3600)::integer
            as horizon_h
    from helio.series i cross join lateral generate_series(1, cardinality(i."values")) as n
) f
join lateral (
    select i."values"[1 + floor(date_part('epoch', f.time - i.start_at) / i.step_s)::integer] as value
    from helio.series i
    where i.site = f.site and i.pool = f.pool and i.signal = f.signal and i.kind = f.kind
      and i.issued_at >= f.time and i.issued_at < f.time + interval '1 day' and i.start_at <= f.time
      and f.time < i.start_at + make_interval(secs => i.step_s::float8 * cardinality(i."values"))
    order by i.issued_at desc limit 1
) a on true
where f.horizon_h >= 0 and f.time > f.issued_at;
comment on view helio_report.forecast_error is
    'Forecasts against what was issued about the same moment once it had begun. Filter on time: it looks at every issue.';

create or replace view helio_report.jobs as
select helio.job_text(t.job_id, t.task) as job_id, t.name, t.tenant, t.user_name, t.queue, helio.tier_word(t.tier) as tier,
    helio.kind_word(t.kind) as kind, helio.state_word(t.state) as state, t.home_site, t.site, t.gpu_model, t.gpus,
    t.submitted_at, t.started_at, t.finished_at,
    helio.seconds_between(t.submitted_at, coalesce(t.started_at, t.finished_at, now())) as wait_seconds,
    case when t.started_at is not null
        then helio.seconds_between(t.started_at, coalesce(t.finished_at, now())) end as run_seconds,
    t.exit_code, t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh, t.carbon_g, t.reason, t.pool, t.nodes,
    t.submitted_at as time
from helio.tasks_now t;
comment on view helio_report.jobs is 'One row per job, one per task of an array. Filter on submitted_at.';

create or replace view helio_report.job_transitions as
select t.at as time, helio.job_text(t.job_id, t.task) as job_id, t.epoch, helio.state_word(t.from_state) as from_state,
    helio.state_word(t.to_state) as to_state, t.reason, t.actor
from helio.transitions t
union all
select t.submitted_at, helio.job_text(t.job_id, t.task), 0, null, 'queued', null, 'user:' || coalesce(t.user_name, '')
from helio.tasks_now t;
comment on view helio_report.job_transitions is 'Every change of state; the submission is the one that comes from null.';

create or replace view helio_report.placements as
select p.at as time, helio.job_text(p.job_id, p.task) as job_id, p.epoch, p.site, p.pool, p.start_at,
    p.score_micro_usd / 1000000.0::float8 as score_usd, d.policy_version,
    d.forecast_at as forecast_issued_at,
    p.planned_cost_micro_usd / 1000000.0::float8 as planned_cost_usd,
    p.planned_energy_j / 3600000.0::float8 as planned_energy_kwh, p.planned_carbon_mg / 1000.0::float8 as planned_carbon_g,
    p.gpus, p.nodes
from helio.placements p left join helio.decisions d using (decision_id);
comment on view helio_report.placements is 'Every offer, with the plan that it rests on.';

create or replace view helio_report.placement_candidates as
select p.at as time, helio.job_text(p.job_id, p.task) as job_id, p.epoch, c.site, c.pool, c.start_at,
    c.score_micro_usd / 1000000.0::float8 as score_usd, c.cost_micro_usd / 1000000.0::float8 as cost_usd,
    c.carbon_mg / 1000.0::float8 as carbon_g,
    case when c.start_at is not null then greatest(date_part('epoch', c.start_at - p.at), 0) end as wait_s,
    null::double precision as transfer_s, c.rejected_reason, c.energy_j / 3600000.0::float8 as energy_kwh, c.rank,
    c.detail, c.carbon_micro_usd / 1000000.0::float8 as carbon_term_usd, c.wait_micro_usd / 1000000.0::float8 as wait_term_usd,
    c.risk_micro_usd / 1000000.0::float8 as risk_term_usd, c.shadow_micro_usd / 1000000.0::float8 as shadow_term_usd,
    c.move_micro_usd / 1000000.0::float8 as move_term_usd, c.transfer_micro_usd / 1000000.0::float8 as transfer_term_usd
from helio.placements p join helio.candidates c using (decision_id);
comment on view helio_report.placement_candidates is 'What each offer was chosen from.';
comment on column helio_report.placement_candidates.transfer_s is 'Null: transfers are part of the cost, not timed apart.';

create or replace view helio_report.queue_wait as
select date_trunc('hour', s.started_at) as time, j.queue, j.tenant, count(*) as jobs,
    percentile_cont(0.5) within group (order by helio.seconds_between(j.submitted_at, s.started_at)) as wait_p50_seconds,
    percentile_cont(0.95) within group (order by helio.seconds_between(j.submitted_at, s.started_at)) as wait_p95_seconds
from helio.job_state s join helio.jobs j using (job_id)
where s.started_at is not null
group by 1, 2, 3;
comment on view helio_report.queue_wait is 'Waits of the jobs that started within each hour.';

-- Units of an attempt are spread over its hours as its GPU time is.
create or replace view helio_report.usage_daily as
select date_trunc('day', l.hour, 'UTC') as time, l.tenant, l.site, l.gpu_model, l.queue,
    count(distinct (l.job_id, l.task)) as jobs, sum(l.gpu_ms)::bigint / 1000.0::float8 as gpu_seconds,
    sum(l.energy_j)::bigint / 3600000.0::float8 as energy_kwh, sum(l.carbon_mg)::bigint / 1000.0::float8 as carbon_g,
    sum(l.cost_micro_usd)::bigint / 1000000.0::float8 as cost_usd,
    sum(a.units_done * l.gpu_ms::float8 / nullif(a.gpu_ms, 0)) as units_done,
    sum(l.gpu_ms) filter (where l.fenced)::bigint / 1000.0::float8 as fenced_gpu_seconds
from helio.ledger l
left join helio.attempts a on a.job_id = l.job_id and a.task = l.task and a.epoch = l.epoch
group by 1, 2, 3, 4, 5;
comment on view helio_report.usage_daily is 'The ledger by day (UTC). Attempts that were fenced cost what they cost, too.';

-- Against staying at home: the plan that the same decision had for the job's home site.
create or replace view helio_report.savings_daily as
select date_trunc('day', p.at, 'UTC') as time, j.tenant, 'home'::text as baseline,
    sum(h.carbon_mg - p.planned_carbon_mg)::bigint / 1000.0::float8 as carbon_g_saved,
    sum(h.cost_micro_usd - p.planned_cost_micro_usd)::bigint / 1000000.0::float8 as cost_usd_saved,
    sum(h.energy_j - p.planned_energy_j)::bigint / 3600000.0::float8 as energy_kwh_saved,
    sum(date_part('epoch', h.start_at - p.start_at)) as wait_seconds_saved, count(*) as placements
from helio.placements p
join helio.jobs j using (job_id)
join lateral (
    select c.* from helio.candidates c
    where c.decision_id = p.decision_id and c.site = j.home_site and c.rejected_reason is null
    order by c.rank limit 1
) h on true
group by 1, 2, 3;
comment on view helio_report.savings_daily is
    'Planned figures of placements against the plan for the home site, where that was feasible. Not a measurement.';

create or replace view helio_report.utilization_hourly as
select date_trunc('hour', c.at) as time, c.site, p.gpu as gpu_model,
    sum(c.gpus_allocated)::float8 / nullif(sum(c.gpus_total), 0) as allocated_ratio,
    null::double precision as sm_active_ratio, null::double precision as memory_used_ratio,
    null::double precision as units_per_gpu_hour
from helio.capacity_samples c left join helio.pools p using (site, pool)
group by 1, 2, 3;
comment on view helio_report.utilization_hourly is 'Share of GPUs allocated, by hour.';
comment on column helio_report.utilization_hourly.sm_active_ratio is 'Null: not collected yet.';
comment on column helio_report.utilization_hourly.memory_used_ratio is 'Null: not collected yet.';
comment on column helio_report.utilization_hourly.units_per_gpu_hour is 'Null: see usage_daily.units_done.';
