-- Views by the hour, for boards of many days. Each has the sums of a view of rows: docs/reference/views.md.

create or replace view helio_report.job_transitions_hourly with (security_barrier) as
select h.hour as time, h.tenant || '' as tenant, helio.state_word(nullif(h.from_state, -1)) as from_state,
    helio.state_word(h.to_state) as to_state, h.changes
from helio.change_hours_now h
where (select s.every_tenant from helio.row_visibility s) or h.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.job_transitions_hourly is
    'job_transitions by hour (UTC). Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.placements_hourly with (security_barrier) as
select h.hour as time, h.tenant || '' as tenant, h.site, h.placements, h.gpus,
    h.planned_cost_micro_usd / 1000000.0::float8 as planned_cost_usd, h.planned_energy_j / 3600000.0::float8 as planned_energy_kwh,
    h.planned_carbon_mg / 1000.0::float8 as planned_carbon_g
from helio.placement_hours_now h
where (select s.every_tenant from helio.row_visibility s) or h.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.placements_hourly is 'placements by hour (UTC) and site. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.placement_candidates_hourly with (security_barrier) as
select h.hour as time, h.tenant || '' as tenant, h.site, nullif(h.rejected_reason, '') as rejected_reason, h.candidates,
    h.score_usd / h.candidates as score_usd
from helio.candidate_hours_now h
where (select s.every_tenant from helio.row_visibility s) or h.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.placement_candidates_hourly is
    'placement_candidates by hour (UTC) of the placement, site and reason. Decisions that retention has deleted are included. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.ledger_hourly with (security_barrier) as
select h.hour as time, h.tenant || '' as tenant, h.site, nullif(h.price_source, '') as price_source,
    h.gpu_ms / 1000.0::float8 as gpu_seconds, h.energy_j / 3600000.0::float8 as energy_kwh, h.carbon_mg / 1000.0::float8 as carbon_g,
    h.cost_micro_usd / 1000000.0::float8 as cost_usd
from helio.ledger_hours h
where (select s.every_tenant from helio.row_visibility s) or h.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.ledger_hourly is
    'The ledger by hour (UTC), site and source of the price, including fenced attempts. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.jobs_hourly with (security_barrier) as
select h.hour as time, h.tenant || '' as tenant, h.queue || '' as queue, helio.state_word(h.state) as state, nullif(h.reason, '') as reason,
    h.jobs, h.gpu_ms / 1000.0::float8 as gpu_seconds
from helio.job_hours_now h
where (select s.every_tenant from helio.row_visibility s) or h.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);
comment on view helio_report.jobs_hourly is
    'jobs by the hour (UTC) of their submission, by state and code of the reason. Several rows can have the same time, tenant, queue, state and reason: sum them. Rows of tenants: a tenant''s reader sees only its own.';

create or replace view helio_report.site_capacity_hourly as
select h.hour as time, h.site, h.pool, p.gpu as gpu_model, h.gpus_total::float8 / h.samples as gpus_total,
    h.gpus_allocated::float8 / h.samples as gpus_allocated, h.gpus_free::float8 / h.samples as gpus_free,
    h.gpus_reserved::float8 / h.samples as gpus_reserved, h.largest_block_gpus, h.nodes_up::float8 / h.samples as nodes_up,
    h.jobs_running::float8 / h.samples as jobs_running, h.jobs_queued::float8 / h.samples as jobs_queued
from helio.capacity_hours_now h left join helio.pools p using (site, pool);
comment on view helio_report.site_capacity_hourly is
    'site_capacity by hour (UTC): means of the samples; of largest_block_gpus the least. Rows of sites: every reader sees all.';

-- Actual values are of whole hours, so all samples of an hour have the same: the site's and the pool's last ones of 25 hours, as in site_energy
-- and site_price.
create or replace view helio_report.site_energy_hourly as
select c.hour as time, c.site, c.power_w as power_watts, coalesce(q.value, s.pue) as pue,
    coalesce(k.value, case when s.carbon_g_per_kwh >= 0 then s.carbon_g_per_kwh end) as carbon_g_per_kwh,
    k.kind as carbon_kind, coalesce(k.source, 'site file') as carbon_source, coalesce(k.estimated or k.hour < c.hour, true) as carbon_estimated,
    k.factor as carbon_factor
from helio.power_hours_now c
join helio.sites s using (site)
left join lateral (
    select a.hour, a.value, nullif(a.kind, '') as kind, a.factor, a.source, a.estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 3 and a.pool = '' and a.hour <= c.hour and a.hour > c.hour - interval '25 hours'
    order by a.hour desc limit 1
) k on true
left join lateral (
    select a.value from helio.actuals a
    where a.site = c.site and a.signal = 4 and a.pool = '' and a.hour <= c.hour and a.hour > c.hour - interval '25 hours'
    order by a.hour desc limit 1
) q on true;
comment on view helio_report.site_energy_hourly is
    'site_energy by hour (UTC): the mean of the power, and the intensity of the hour. Rows of sites: every reader sees all.';

create or replace view helio_report.site_price_hourly as
select c.hour as time, c.site, c.pool,
    coalesce(k.value, case when p.owned then coalesce(e.value, s.electricity_usd_per_kwh) * s.pue
            * (p.host_w + p.base_w + p.slope_w) / 1000
        else p.price_usd_per_gpu_h end) as price_usd_per_gpu_h,
    coalesce(e.value, s.electricity_usd_per_kwh) as electricity_usd_per_kwh,
    case when k.value is not null then coalesce(k.source, '') when p.owned and e.value is not null then coalesce(e.source, '')
        else 'site file' end as price_source,
    coalesce(case when k.value is not null then k.estimated when p.owned then e.estimated end, false) as price_estimated
from helio.capacity_hours_now c
join helio.sites s using (site)
join helio.pools p using (site, pool)
left join lateral (
    select a.value, a.source, a.estimated or a.hour < c.hour as estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 1 and a.pool in (c.pool, '') and a.hour <= c.hour and a.hour > c.hour - interval '25 hours'
    order by a.pool = '', a.hour desc limit 1
) k on true
left join lateral (
    select a.value, a.source, a.estimated or a.hour < c.hour as estimated
    from helio.actuals a
    where a.site = c.site and a.signal = 2 and a.pool = '' and a.hour <= c.hour and a.hour > c.hour - interval '25 hours'
    order by a.hour desc limit 1
) e on true;
comment on view helio_report.site_price_hourly is 'site_price by hour (UTC). Rows of sites: every reader sees all.';
