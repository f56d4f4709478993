-- The balance of sites: what is booked against what the meter says.
begin;
select no_plan();

create temporary table day as select '2026-03-29 00:00+00'::timestamptz as d;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
    gpu_model, queue, provenance, part)
select '0199eeee-0000-7000-8000-000000000001'::uuid, -1, e, d + make_interval(hours => i), 3600000, 1800000, 0, 0, e = 1, 'bal',
    'bal', 'a', 'H100', 'standard', 'measured', 0
from day, generate_series(1, 3) i, generate_series(1, 2) e
union all
select '0199eeee-0000-7000-8000-000000000001'::uuid, -1, 2, d + interval '1 hour', 0, 99999999, 0, 0, false, 'bal', 'bal', 'a', 'H100',
    'standard', 'transfer', 1 from day;
insert into helio.site_ledger (site, pool, hour, part, energy_j, estimated, issued_at)
select 'bal', p, d + make_interval(hours => i), part, 450000, i = 2, d
from day, generate_series(1, 4) i, unnest(array ['a', 'b']) p, generate_series(0, 2) part
union all
select 'bal', '', d + make_interval(hours => i), 3, 6300000 * i, false, d from day, generate_series(1, 2) i
union all
select 'part', 'a', d + interval '1 hour', 0, 1, false, d from day
union all
select 'part', '', d + interval '1 hour', 3, 1, false, d from day;

select results_eq($$select time, jobs_kwh, idle_kwh, foreign_kwh, overhead_kwh, meter_kwh, round(difference_ratio::numeric, 4), closed,
        estimated from helio_report.energy_balance where site = 'bal' order by time$$,
    $$select d + make_interval(hours => i), case when i < 4 then 1 else 0 end::float8, 0.25::float8, 0.25::float8, 0.25::float8,
        case i when 1 then 1.75 when 2 then 3.5 end::float8, case i when 1 then 0.0 when 2 then -0.5 end::numeric, true, i = 2
    from day, generate_series(1, 4) i$$,
    'hour by hour: fenced attempts count, transfers do not, pools are added up, and without a meter nothing is compared');
select is((select difference_ratio from helio_report.energy_balance where site = 'part'), null,
    'where a part is not known nothing is compared');

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select '0199eeee-0000-7000-8000-000000000009'::uuid, d, 1, 1, 1, 1, 1, 0, 'bal', 'standard', '', '' from day;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, site, pool, started_at, at)
select '0199eeee-0000-7000-8000-000000000009'::uuid, -1, 4, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 'bal', 'a', d + interval '2 hours 10 minutes', d
from day;
select results_eq($$select closed, difference_ratio is not null from helio_report.energy_balance where site = 'bal' order by time$$,
    $$values (true, true), (false, false), (false, false), (false, false)$$, 'a job that runs is not booked: its hours are open');

insert into helio.site_ledger (site, pool, hour, part, energy_j, estimated, issued_at)
select 'bal', 'a', d + interval '1 hour', 0, 7, false, d from day
on conflict (site, hour, pool, part) do nothing;
select is((select energy_j from helio.site_ledger where site = 'bal' and pool = 'a' and part = 0 and hour = (select d + interval '1 hour' from day)),
    450000::bigint, 'the first word stands');
select throws_ok('update helio.site_ledger set energy_j = 2', 'HE002', null, 'and nothing is changed');
select throws_ok('delete from helio.site_ledger', 'HE002', null, 'or removed');
select is(helio.energy_part_word(p::smallint), w, 'part ' || p)
from unnest(array [0, 1, 2, 3], array ['idle', 'foreign', 'overhead', 'meter']) as x (p, w);

select * from finish();
rollback;
