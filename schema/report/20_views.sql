-- The stable interface for dashboards. Columns are only added, at the end. A series has a column `time`; units are in the names;
-- null means unknown. The views run with their owner's privileges, so that readers need none on schema helio.

create or replace view helio_report.fleet_now as
select p.site, p.region, p.backend,
    helio.site_state_shown(p.state, p.draining, s.seen_at) as state,
    s.seen_at as last_seen, p.pool, p.gpu_model, coalesce(p.gpus_total, 0) as gpus_total,
    coalesce(p.gpus_free, 0) as gpus_free, coalesce(p.gpus_reserved, 0) as gpus_reserved,
    coalesce(p.jobs_running, 0) as jobs_running, coalesce(p.jobs_queued, 0) as jobs_queued, s.carbon_g_per_kwh,
    p.price_usd_per_gpu_h, s.pue, s.latitude, s.longitude, coalesce(p.gpus_allocated, 0) as gpus_allocated,
    s.power_w as site_power_watts
from helio.pools_now p join helio.sites_now s using (site);
comment on view helio_report.fleet_now is 'One row per site and pool: its properties and its latest figures. Rows of sites: every reader sees all.';

-- Samples are joined with their pools also where nothing is shown of these: so those of one site are found by the key, pool by pool (helio.sample_rows_raw).
create or replace view helio_report.site_capacity as
select c.at as time, c.site, c.pool, p.gpu as gpu_model, c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved,
    c.largest_block_gpus, c.nodes_up, c.jobs_running, c.jobs_queued
from helio.pools p join helio.capacity_samples c using (site, pool);
comment on view helio_report.site_capacity is 'One sample per minute for each site and pool. Rows of sites: every reader sees all.';

-- A sample has the latest values issued for its hour. If a feed was silent, it has the last good value of at most a day, marked as an
-- estimate; otherwise the value of the site file.
create or replace view helio_report.site_energy as
select c.at as time, c.site, nullif(c.power_watts, -1) as power_watts, null::double precision as gpu_power_watts,
    coalesce(q.value, s.pue) as pue,
    coalesce(k.value, case when s.carbon_g_per_kwh >= 0 then s.carbon_g_per_kwh end) as carbon_g_per_kwh,
    k.kind as carbon_kind, coalesce(k.source, 'site file') as carbon_source,
    coalesce(k.estimated or k.hour < date_trunc('hour', c.at, 'UTC'), true) as carbon_estimated, k.factor as carbon_factor
from (select site, c.at, max(c.site_power_w) as power_watts from helio.pools p join helio.capacity_samples c using (site, pool) group by site, c.at) c
join helio.sites s using (site)
left join lateral (
    select a.hour, a.value, nullif(a.kind, '') as kind, a.factor,
        helio.source_text(a.source, a.feed_state, a.last_value_at) as source, a.estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 3 and a.pool = '' and a.hour <= c.at and a.hour > c.at - interval '25 hours'
    order by a.hour desc limit 1
) k on true
left join lateral (
    select a.value from helio.actuals a
    where a.site = c.site and a.signal = 4 and a.pool = '' and a.hour <= c.at and a.hour > c.at - interval '25 hours'
    order by a.hour desc limit 1
) q on true;
comment on view helio_report.site_energy is 'Power and carbon intensity of each site, one sample per minute. Rows of sites: every reader sees all.';

create or replace view helio_report.site_price as
select c.at as time, c.site, c.pool,
    coalesce(k.value, case when p.owned then coalesce(e.value, s.electricity_usd_per_kwh) * s.pue
            * (p.host_w + p.base_w + p.slope_w) / 1000
        else p.price_usd_per_gpu_h end) as price_usd_per_gpu_h,
    coalesce(e.value, s.electricity_usd_per_kwh) as electricity_usd_per_kwh,
    case when k.value is not null then coalesce(k.source, '') when p.owned and e.value is not null then coalesce(e.source, '')
        else 'site file' end as price_source,
    coalesce(case when k.value is not null then k.estimated when p.owned then e.estimated end, false) as price_estimated
from helio.capacity_samples c
join helio.sites s using (site)
join helio.pools p using (site, pool)
left join lateral (
    select a.value, helio.source_text(a.source, a.feed_state, a.last_value_at) as source,
        a.estimated or a.hour < date_trunc('hour', c.at, 'UTC') as estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 1 and a.pool in (c.pool, '') and a.hour <= c.at
      and a.hour > c.at - interval '25 hours'
    order by a.pool = '', a.hour desc limit 1
) k on true
left join lateral (
    select a.value, helio.source_text(a.source, a.feed_state, a.last_value_at) as source,
        a.estimated or a.hour < date_trunc('hour', c.at, 'UTC') as estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 2 and a.pool = '' and a.hour <= c.at and a.hour > c.at - interval '25 hours'
    order by a.hour desc limit 1
) e on true;
comment on view helio_report.site_price is
    'Price of a GPU-hour: rent, or for owned pools the electricity of a GPU at full utilisation. Rows of sites: every reader sees all.';

create or replace view helio_report.forecast_latest as
select n.start_at + make_interval(secs => (i - 1)::float8 * n.step_s) as time, n.site, helio.signal_word(n.signal) as signal,
    n.issued_at, n."values"[i] as value, n.p10[i] as p10, n.p90[i] as p90, nullif(n.pool, '') as pool,
    nullif(n.kind, '') as kind, helio.source_text(n.source, n.feed_state, n.last_value_at) as source, n.estimated,
    helio.feed_state_word(n.feed_state) as feed_state, n.last_value_at
from helio.series_now n cross join lateral generate_series(1, cardinality(n."values")) as i;
comment on view helio_report.forecast_latest is 'Every point of each series, as issued last. Rows of sites: every reader sees all.';

-- Each hour as issued, compared with its actual value. An hour without an issue after its beginning has no actual value, and kinds and
-- factors never mix. For signals whose actual hours are not stored, the actual value is the last issue within a day.
create or replace view helio_report.forecast_error as
select f.time, f.site, helio.signal_word(f.signal) as signal,
    floor(date_part('epoch', f.time - f.issued_at) / 3600)::integer as horizon_h, abs(f.value - a.value) as absolute_error,
    abs(f.value - a.value) / nullif(abs(a.value), 0) as ape_ratio, nullif(f.pool, '') as pool, f.issued_at,
    f.value, a.value as actual_value, a.estimated as actual_estimated, nullif(f.kind, '') as kind, f.factor, f.source
from (
    select i.site, i.pool, i.signal, i.kind, i.factor, helio.source_text(i.source, i.feed_state, i.last_value_at) as source,
        i.issued_at, helio.utc_hour(i.start_at + make_interval(secs => (n - 1)::float8 * i.step_s)) as time,
        avg(i."values"[n]) filter (where i."values"[n] < 'infinity') as value
    from helio.series i cross join lateral generate_series(1, cardinality(i."values")) as n
    group by i.site, i.pool, i.signal, i.kind, i.factor, i.source, i.feed_state, i.last_value_at, i.issued_at, i.start_at, i.step_s, 8
) f
join lateral (
    (select a.value, a.estimated
     from helio.actuals a
     where a.site = f.site and a.signal = f.signal and a.pool = f.pool and a.hour = f.time and a.issued_at >= a.hour
       and a.kind = f.kind and a.factor is not distinct from f.factor)
    union all
    (select i."values"[1 + floor(date_part('epoch', f.time - i.start_at) / i.step_s)::integer], i.estimated
     from helio.series i
     where f.signal in (0, 5) and i.site = f.site and i.pool = f.pool and i.signal = f.signal and i.kind = f.kind
       and i.issued_at >= f.time and i.issued_at < f.time + interval '1 day' and i.start_at <= f.time
       and f.time < i.start_at + make_interval(secs => i.step_s::float8 * cardinality(i."values"))
     order by i.issued_at desc limit 1)
) a on true
where f.time > f.issued_at and f.value is not null and a.value < 'infinity';
comment on view helio_report.forecast_error is
    'Forecasts as issued compared with actual values, hour by hour. Filter on issued_at: the view reads every issue. Rows of sites: every reader sees all.';

create or replace view helio_report.forecast_error_by_horizon as
select e.site, e.signal, e.pool, e.kind, e.factor, e.horizon_h, count(*) as hours,
    avg(e.value - e.actual_value) as bias, avg(e.absolute_error) as mean_absolute_error,
    avg(e.ape_ratio) as mean_ape_ratio, count(*) filter (where e.actual_estimated) as hours_estimated
from helio_report.forecast_error e
where e.issued_at >= now() - interval '7 days'
group by e.site, e.signal, e.pool, e.kind, e.factor, e.horizon_h;
comment on view helio_report.forecast_error_by_horizon is 'Mean forecast errors by horizon, over the forecasts issued in the last seven days. Rows of sites: every reader sees all.';

-- run_seconds as in helio.tasks_now.
create or replace view helio_report.jobs as
select t.id as job_id, t.name, t.tenant, t.user_name, t.queue, helio.tier_word(t.tier) as tier,
    helio.kind_word(t.kind) as kind, helio.state_word(t.state) as state, t.home_site, t.site, t.gpu_model, t.gpus,
    t.submitted_at, t.started_at, t.finished_at,
    helio.seconds_between(t.submitted_at, coalesce(t.started_at, t.finished_at, now())) as wait_seconds,
    case when t.started_at is not null then
        (select coalesce(sum(a.run_ms) filter (where not a.fenced), 0) / 1000.0::float8
             + case when (t.state between 4 and 6 or (t.state = 7 and t.before between 4 and 6))
                     and not coalesce(bool_or(a.epoch = t.epoch or a.started_at = t.started_at), false)
                 then helio.seconds_between(t.started_at, now()) else 0 end
         from helio.attempts a
         where a.job_id = t.job_id and a.task = t.task) end as run_seconds,
    t.exit_code, t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh, t.carbon_g, t.reason, t.pool, t.nodes,
    t.submitted_at as time, t.details, helio.goal_word(t.goal) as goal, t.deadline_at as deadline,
    t.flexible_ms / 1000.0::float8 as flexible_seconds, t.time_limit_ms / 1000.0::float8 as time_limit_seconds,
    (select jsonb_object_agg(l.key, l.value) from helio.labels l where l.job_id = t.job_id) as labels
from helio.visible_tasks t;
comment on view helio_report.jobs is 'One row per job; for arrays, one row per task. Filter on submitted_at or job_id. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.open_jobs as
select t.id as job_id, t.name, t.tenant, t.user_name, t.queue, helio.tier_word(t.tier) as tier,
    helio.kind_word(t.kind) as kind, helio.state_word(t.state) as state, t.home_site, t.site, t.pool, t.gpu_model, t.gpus, t.nodes,
    t.submitted_at, t.started_at, helio.seconds_between(t.submitted_at, coalesce(t.started_at, now())) as wait_seconds,
    case when t.started_at is not null then
        (select coalesce(sum(a.run_ms) filter (where not a.fenced), 0) / 1000.0::float8
             + case when (t.state between 4 and 6 or (t.state = 7 and t.before between 4 and 6))
                     and not coalesce(bool_or(a.epoch = t.epoch or a.started_at = t.started_at), false)
                 then helio.seconds_between(t.started_at, now()) else 0 end
         from helio.attempts a
         where a.job_id = t.job_id and a.task = t.task) end as run_seconds,
    t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh, t.carbon_g, t.reason, t.detail, t.details, t.expected_at as expected_start,
    helio.goal_word(t.goal) as goal, t.deadline_at as deadline, t.flexible_ms / 1000.0::float8 as flexible_seconds,
    t.time_limit_ms / 1000.0::float8 as time_limit_seconds, t.submitted_at as time
from helio.visible_open_tasks t;
comment on view helio_report.open_jobs is
    'Jobs that are not over, one row per job or, for arrays, per task, and what each waits for. What it reads grows with the open jobs and those of the last day. Rows of tenants: a tenant''s reader sees only its own.';

-- A union at the top of a view would not be a security barrier: PostgreSQL flattens it before it checks for one. Texts as in helio.visible_tasks.
create or replace view helio_report.job_transitions with (security_barrier) as
select u.time, u.job_id, u.epoch, u.from_state, u.to_state, u.reason, u.actor, u.details
from (
    select t.at as time, t.id as job_id, t.epoch, helio.state_word(t.from_state) as from_state,
        helio.state_word(t.to_state) as to_state, t.reason || '' as reason, t.actor || '' as actor,
        t.details || '[]' as details
    from helio.transitions_by_text t left join helio.visible_jobs o using (job_id)
    where t.from_state <> t.to_state
      and ((select s.every_tenant from helio.row_visibility s) or o.job_id is not null)
    union all
    select j.submitted_at, helio.text_of_job(j.id_text, j.job_id), 0, null, 'queued', null, helio.user_principal(j.tenant, coalesce(j.user_name, '')), null
    from helio.jobs j
    where j.tasks is null
      and ((select s.every_tenant from helio.row_visibility s) or j.tenant = any ((select s.tenants from helio.row_visibility s)::text[]))
    union all
    select j.submitted_at, helio.text_of_job(j.id_text, j.job_id) || '.' || t.task, 0, null, 'queued', null, helio.user_principal(j.tenant, coalesce(j.user_name, '')), null
    from helio.jobs j cross join lateral unnest(j.tasks) as t (task)
    where j.tasks is not null
      and ((select s.every_tenant from helio.row_visibility s) or j.tenant = any ((select s.tenants from helio.row_visibility s)::text[]))
) u;
comment on view helio_report.job_transitions is 'State changes of jobs. The submission is the change from null. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.edits with (security_barrier) as
select e.at as time, helio.job_text(e.job_id, -1) as job_id, j.tenant || '' as tenant, e.actor || '' as actor, e.field,
    e.before || '' as from_value, e.after || '' as to_value
from helio.edited e join helio.jobs j using (job_id)
where (select s.every_tenant from helio.row_visibility s) or j.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.edits is
    'Edits of pending jobs: one row for each changed field. A row about an array applies to all of its tasks. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.placements with (security_barrier) as
select p.at as time, p.id as job_id, p.epoch, p.site, p.pool, p.start_at,
    p.score_micro_usd / 1000000.0::float8 as score_usd, d.policy_version,
    d.forecast_at as forecast_issued_at,
    p.planned_cost_micro_usd / 1000000.0::float8 as planned_cost_usd,
    p.planned_energy_j / 3600000.0::float8 as planned_energy_kwh, p.planned_carbon_mg / 1000.0::float8 as planned_carbon_g,
    p.gpus, p.nodes, p.gpu_model, p.expected_ms / 1000.0::float8 as expected_seconds,
    p.expected_high_ms / 1000.0::float8 as expected_p90_seconds
from helio.placements_by_text p left join helio.decisions d using (decision_id) left join helio.visible_jobs o using (job_id)
where (select s.every_tenant from helio.row_visibility s) or o.job_id is not null;
comment on view helio_report.placements is 'Placements of jobs at sites, with the plan that each placement is based on. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.placement_candidates with (security_barrier) as
select p.at as time, p.id as job_id, p.epoch, c.site, c.pool, c.start_at,
    c.score_micro_usd / 1000000.0::float8 as score_usd,
    (c.cost_micro_usd + c.egress_micro_usd) / 1000000.0::float8 as cost_usd,
    (c.carbon_mg + c.transfer_carbon_mg) / 1000.0::float8 as carbon_g,
    case when c.start_at is not null then greatest(date_part('epoch', c.start_at - p.at), 0) end as wait_s,
    c.transfer_ms / 1000.0::float8 as transfer_s, c.rejected_reason,
    (c.energy_j + c.transfer_j) / 3600000.0::float8 as energy_kwh, c.rank,
    coalesce(c.detail, helio.rejection_sentence(c.rejected_reason)) as detail,
    c.carbon_micro_usd / 1000000.0::float8 as carbon_term_usd, c.wait_micro_usd / 1000000.0::float8 as wait_term_usd,
    c.risk_micro_usd / 1000000.0::float8 as risk_term_usd, c.shadow_micro_usd / 1000000.0::float8 as shadow_term_usd,
    c.move_micro_usd / 1000000.0::float8 as move_term_usd, c.transfer_micro_usd / 1000000.0::float8 as transfer_term_usd,
    c.egress_micro_usd / 1000000.0::float8 as egress_usd,
    c.run_ms / 1000.0::float8 as expected_seconds, c.run_high_ms / 1000.0::float8 as expected_p90_seconds, c.details,
    c.move_micro_usd / 1000000.0::float8 as disruption_term_usd
from helio.placements_by_text p
-- by the index in any case: else the rows of a day read all candidates of all years
cross join lateral (select * from helio.candidates k where k.decision_id = p.decision_id offset 0) c
left join helio.visible_jobs o using (job_id)
where (select s.every_tenant from helio.row_visibility s) or o.job_id is not null;
comment on view helio_report.placement_candidates is 'Candidates of each placement, with their scores. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.rejections as
select r.word as rejected_reason, r.sentence as detail from helio.rejections r;
comment on view helio_report.rejections is
    'What each rejected_reason of a site means, as a sentence: for boards that count candidates by their reason. Rows of sites: every reader sees all.';

-- Jobs that ended with their first attempt and had a prediction: the runs from which later runs are predicted.
create or replace view helio_report.duration_error with (security_barrier) as
select d.day as time, d.tenant, helio.duration_basis_word(d.basis) as basis, d.runs, d.median_ratio, d.within_ratio as within_p90_ratio
from helio.duration_days_now d
where (select s.every_tenant from helio.row_visibility s) or d.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.duration_error is
    'Actual compared with expected run times, by the day (UTC) on which the runs ended. A ratio above 1 means longer than expected. Rows of tenants: a tenant''s reader sees only its own.';

-- A migration's decision has the same text as the transition. So the next placement's decision tells whether the job reached its target.
create or replace view helio_report.migrations with (security_barrier) as
select t.at as time, t.id as job_id, t.epoch, p.site as from_site, p.pool as from_pool,
    n.site as to_site, n.pool as to_pool, d.decision_id is not null as reached_target,
    (here.score_micro_usd - there.score_micro_usd) / 1000000.0::float8 as saves_usd,
    there.move_micro_usd / 1000000.0::float8 as disruption_term_usd, t.reason, t.details || '[]' as details
from helio.transitions_by_text t
join helio.placements p on p.job_id = t.job_id and p.task = t.task and p.epoch = t.epoch
left join helio.placements n on n.job_id = t.job_id and n.task = t.task and n.epoch = t.epoch + 1
left join helio.decisions d on d.decision_id = n.decision_id and d.detail = t.reason
left join helio.candidates here
    on here.decision_id = d.decision_id and here.site = p.site and here.pool = p.pool
left join helio.candidates there
    on there.decision_id = d.decision_id and there.site = n.site and there.pool = n.pool
left join helio.visible_jobs o on o.job_id = t.job_id
where t.to_state = 6 and (t.details->0->>'code' = 'Migrated' or (t.details is null and t.reason like 'moved from %')) -- transitions_migrated
  and ((select s.every_tenant from helio.row_visibility s) or o.job_id is not null);
comment on view helio_report.migrations is
    'Running jobs that were told to leave for a better site, and their next placement. Filter on time. Rows of tenants: a tenant''s reader sees only its own.';

-- Deprecated (docs/upgrade.md): migrations under its former name, with the former names of two columns.
create or replace view helio_report.moves with (security_barrier) as
select m.time, m.job_id, m.epoch, m.from_site, m.from_pool, m.to_site, m.to_pool, m.reached_target as moved, m.saves_usd,
    m.disruption_term_usd as move_term_usd, m.reason, m.details
from helio_report.migrations m;
comment on view helio_report.moves is
    'Deprecated, removed in the next release: use migrations. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.queue_wait with (security_barrier) as
select w.hour as time, w.queue || '' as queue, w.tenant, w.jobs, w.wait_p50 as wait_p50_seconds, w.wait_p95 as wait_p95_seconds
from helio.wait_hours_now w
where (select s.every_tenant from helio.row_visibility s) or w.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.queue_wait is 'Waiting times of the jobs that started within each hour (UTC). Rows of tenants: a tenant''s reader sees only its own.';

-- Samples, since nothing says later what a job waited for.
create or replace view helio_report.queue_waiting with (security_barrier) as
select w.at as time, w.tenant || '' as tenant, w.queue || '' as queue, w.reason || '' as reason, w.tasks as jobs, w.gpus
from helio.waiting_samples w
where (select s.every_tenant from helio.row_visibility s) or w.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.queue_waiting is
    'Jobs that wait, by tenant, queue and reason: one sample every five minutes. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.ledger with (security_barrier) as
select l.hour as time, l.id as job_id, l.epoch, l.tenant, l.site, l.pool, l.gpu_model, l.queue,
    l.gpu_ms / 1000.0::float8 as gpu_seconds, l.energy_j / 3600000.0::float8 as energy_kwh,
    l.carbon_mg / 1000.0::float8 as carbon_g, l.cost_micro_usd / 1000000.0::float8 as cost_usd, l.fenced,
    l.provenance as energy_provenance, r.watts_per_gpu, r.pue,
    helio.source_text(r.pue_source, r.pue_feed_state, r.pue_last_value_at) as pue_source, r.pue_issued_at, r.pue_estimated,
    r.price_usd_per_gpu_h, helio.source_text(r.price_source, r.price_feed_state, r.price_last_value_at) as price_source, r.price_issued_at, r.price_estimated,
    r.electricity_usd_per_kwh,
    helio.source_text(r.electricity_source, r.electricity_feed_state, r.electricity_last_value_at) as electricity_source,
    r.electricity_issued_at, r.electricity_estimated,
    r.carbon_g_per_kwh, r.carbon_kind, r.carbon_factor,
    coalesce(helio.source_text(r.carbon_source, r.carbon_feed_state, r.carbon_last_value_at), 'static') as carbon_source,
    r.carbon_issued_at, coalesce(r.carbon_estimated, true) as carbon_estimated, l.estimated as time_estimated
from helio.ledger_by_text l left join helio.rates r using (rates_id)
where (select s.every_tenant from helio.row_visibility s) or l.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.ledger is
    'Use by hour and attempt, with the prices applied. Filter on time. Source static without an issue time is the value of the site file. Rows of tenants: a tenant''s reader sees only its own.';

-- The units of an attempt are spread over its hours in proportion to its GPU time.
create or replace view helio_report.usage_daily with (security_barrier) as
select u.day as time, u.tenant, u.site, nullif(u.gpu_model, '') as gpu_model, nullif(u.queue, '') as queue,
    u.jobs, u.gpu_ms / 1000.0::float8 as gpu_seconds, u.energy_j / 3600000.0::float8 as energy_kwh, u.carbon_mg / 1000.0::float8 as carbon_g,
    u.cost_micro_usd / 1000000.0::float8 as cost_usd, u.units_done, u.fenced_gpu_ms / 1000.0::float8 as fenced_gpu_seconds,
    case when u.carbon_kind_first <> u.carbon_kind_last then 'mixed' else u.carbon_kind_first end as carbon_kind,
    u.carbon_estimated_j::float8 / nullif(u.energy_j, 0) as carbon_estimated_ratio,
    u.measured_j::float8 / nullif(u.energy_j, 0) as measured_ratio,
    u.transfer_micro_usd / 1000000.0::float8 as transfer_cost_usd, u.transfer_j / 3600000.0::float8 as transfer_energy_kwh,
    u.transfer_mg / 1000.0::float8 as transfer_carbon_g, u.estimated_gpu_ms / 1000.0::float8 as estimated_gpu_seconds
from helio.usage_days u
where (select s.every_tenant from helio.row_visibility s) or u.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.usage_daily is 'The ledger by day (UTC), including fenced attempts. Rows of tenants: a tenant''s reader sees only its own.';

-- An hour balances once every attempt that ran in it is in the ledger: attempts are entered when they end.
create or replace view helio_report.energy_balance as
with running as (
    select s.site, date_trunc('hour', min(coalesce(s.started_at, s.at)), 'UTC') as since
    from helio.state_maybe_open s
    where s.site is not null and s.state <> 0 and not helio.state_is_over(s.state)
    group by s.site
), hours as (
    select p.site, p.hour, coalesce(sum(p.energy_j) filter (where p.part = -1), 0) as jobs_j,
        sum(p.energy_j) filter (where p.part = 0) as idle_j, sum(p.energy_j) filter (where p.part = 1) as foreign_j,
        sum(p.energy_j) filter (where p.part = 2) as overhead_j, sum(p.energy_j) filter (where p.part = 3) as meter_j,
        bool_or(p.estimated) as estimated
    from (
        select u.site, u.hour, -1 as part, u.energy_j, false as estimated from helio.usage_hours u
        union all
        select b.site, b.hour, b.part, b.energy_j, b.estimated from helio.site_ledger b
    ) p
    group by p.site, p.hour
)
select h.hour as time, h.site, h.jobs_j / 3600000.0::float8 as jobs_kwh, h.idle_j / 3600000.0::float8 as idle_kwh,
    h.foreign_j / 3600000.0::float8 as foreign_kwh, h.overhead_j / 3600000.0::float8 as overhead_kwh,
    h.meter_j / 3600000.0::float8 as meter_kwh,
    case when coalesce(h.hour < r.since, true)
        then (h.jobs_j + h.idle_j + h.foreign_j + h.overhead_j)::float8 / nullif(h.meter_j, 0) - 1 end as difference_ratio,
    coalesce(h.hour < r.since, true) as closed, h.estimated
from hours h left join running r on r.site = h.site;
comment on view helio_report.energy_balance is
    'Accounted energy of each site by hour (UTC), compared with the site''s own meter. Filter on time. Jobs are the ledger''s energy, including PUE, over all tenants. Rows of sites: every reader sees all.';

create or replace view helio_report.savings_daily with (security_barrier) as
select b.day as time, b.tenant, case b.baseline when 0 then 'home' else 'least-wait' end as baseline,
    case when b.carbon_kind <> '' then (b.would_mg - b.carbon_mg) / 1000.0::float8 end as carbon_g_saved,
    (b.would_usd - b.cost_micro_usd) / 1000000.0::float8 as cost_usd_saved, (b.would_j - b.energy_j) / 3600000.0::float8 as energy_kwh_saved,
    (b.would_wait_ms - b.wait_ms) / 1000.0::float8 as wait_seconds_saved, b.jobs as placements,
    b.jobs, b.estimated as jobs_estimated, nullif(b.carbon_kind, '') as carbon_kind,
    case when b.carbon_kind <> '' then b.carbon_mg / 1000.0::float8 end as used_carbon_g,
    b.cost_micro_usd / 1000000.0::float8 as used_cost_usd, b.energy_j / 3600000.0::float8 as used_energy_kwh,
    b.wait_ms / 1000.0::float8 as used_wait_seconds,
    case when b.carbon_kind <> '' then b.would_mg / 1000.0::float8 end as baseline_carbon_g,
    b.would_usd / 1000000.0::float8 as baseline_cost_usd, b.would_j / 3600000.0::float8 as baseline_energy_kwh,
    b.would_wait_ms / 1000.0::float8 as baseline_wait_seconds
from helio.savings_days b
where b.baseline < 2
  and ((select s.every_tenant from helio.row_visibility s) or b.tenant = any ((select s.tenants from helio.row_visibility s)::text[]));
comment on view helio_report.savings_daily is
    'Use of the jobs that ended on the day (UTC), compared with two baselines. home: an immediate start at the job''s home site. least-wait: a start at the site where the job could have started first when it was decided. Both assume the run time of the last attempt and the prices of the hours in which the job would have run. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.savings with (security_barrier) as
select b.ended_at as time, b.id as job_id, b.tenant || '' as tenant, case b.baseline when 0 then 'home' else 'least-wait' end as baseline,
    b.at_site as baseline_site, nullif(b.carbon_kind, '') as carbon_kind, b.estimated <> 0 as estimated,
    case when b.carbon_kind <> '' then (b.would_mg - b.carbon_mg) / 1000.0::float8 end as carbon_g_saved,
    (b.would_usd - b.cost_micro_usd) / 1000000.0::float8 as cost_usd_saved, (b.would_j - b.energy_j) / 3600000.0::float8 as energy_kwh_saved,
    (b.would_wait_ms - b.wait_ms) / 1000.0::float8 as wait_seconds_saved,
    case when b.carbon_kind <> '' then b.carbon_mg / 1000.0::float8 end as used_carbon_g,
    b.cost_micro_usd / 1000000.0::float8 as used_cost_usd, b.energy_j / 3600000.0::float8 as used_energy_kwh,
    b.wait_ms / 1000.0::float8 as used_wait_seconds,
    case when b.carbon_kind <> '' then b.would_mg / 1000.0::float8 end as baseline_carbon_g,
    b.would_usd / 1000000.0::float8 as baseline_cost_usd, b.would_j / 3600000.0::float8 as baseline_energy_kwh,
    b.would_wait_ms / 1000.0::float8 as baseline_wait_seconds
from helio.savings_by_text b
where b.baseline < 2
  and ((select s.every_tenant from helio.row_visibility s) or b.tenant = any ((select s.tenants from helio.row_visibility s)::text[]));
comment on view helio_report.savings is
    'What each job that ran to its end used, compared with the two baselines of savings_daily: one row for each baseline that it has. savings_daily has these rows by day, and the use of fenced attempts besides. Filter on time or job_id. Rows of tenants: a tenant''s reader sees only its own.';

-- Samples that retention deleted before hours were summed up are kept as sums by hour, too. The ledger is a part of the union, and not joined, so that a condition on the time
-- reaches it, too; hours without a sample are left out.
create or replace view helio_report.utilization_hourly as
select c.hour as time, c.site, c.gpu_model, sum(c.gpus_allocated)::float8 / nullif(sum(c.gpus_total), 0) as allocated_ratio,
    null::double precision as sm_active_ratio, null::double precision as memory_used_ratio,
    coalesce(sum(c.units_done), 0) * 3600000.0::float8 / nullif(sum(c.gpu_ms), 0)::float8 as units_per_gpu_hour
from (
    select h.hour, h.site, p.gpu as gpu_model, h.gpus_allocated, h.gpus_total, null::float8 as units_done, null::bigint as gpu_ms
    from helio.capacity_hours_now h left join helio.pools p using (site, pool)
    union all
    select u.hour, u.site, p.gpu, u.gpus_allocated, u.gpus_total, null, null
    from helio.utilization u left join helio.pools p using (site, pool)
    where not exists (select from helio.capacity_hours h where h.hour = u.hour and h.site = u.site and h.pool = u.pool)
    union all
    select h.hour, h.site, nullif(h.gpu_model, ''), null, null, h.units_done, h.gpu_ms from helio.usage_hours h
) c
group by 1, 2, 3
having count(c.gpus_total) > 0;
comment on view helio_report.utilization_hourly is 'Share of allocated GPUs, by hour (UTC). Rows of sites: every reader sees all.';

create or replace view helio_report.budgets with (security_barrier) as
select b.tenant, nullif(b.queue, '') as queue, helio.budget_kind_word(b.kind) as kind, helio.period_word(b.period) as period,
    case b.kind when 0 then 'GPU-hours' when 1 then 'USD' else 'kg CO2e' end as unit,
    (b.amount / u.scale)::float8 as budget, (b.used / u.scale)::float8 as used, (b.committed / u.scale)::float8 as committed,
    ((b.amount - b.used - b.committed) / u.scale)::float8 as remaining,
    ((b.used + b.committed) / nullif(b.amount, 0))::float8 as gone_ratio, b.begins_at, b.ends_at, b.of_each
from helio.budgets_now b
cross join lateral (select case b.kind when 0 then 3600000.0 else 1000000.0 end as scale) u
where (select s.every_tenant from helio.row_visibility s) or b.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.budgets is 'One row per budget: what is used, committed and left in the current day, week or month (UTC). Rows of tenants: a tenant''s reader sees only its own.';
