-- An attempt that was given up: its row changes once, and every view sums up to what its site measured.
begin;
select no_plan();

create temporary table day as select '2026-05-04 00:00+00'::timestamptz as d;
create temporary table job as select '0199dddd-0000-7000-8000-0000000000c1'::uuid as id;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j,
    units_done, site, basis)
select id, -1, e, 7, false, true, d, d, d, 1800000, 3600000, 0, 0, 'given', e - 1 from day, job, generate_series(1, 2) e;
create function pg_temp.hour(n integer, of_part smallint, gpu bigint, est boolean) returns void language sql as $$
    insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
        gpu_model, queue, provenance, part, estimated)
    select id, -1, 2, d + make_interval(hours => n), gpu, gpu, gpu / 10, gpu / 100, true, 'corrected', 'given', 'a', 'H100', 'standard',
        'model', of_part, est from day, job
$$;
select pg_temp.hour(1, 2::smallint, 3600000, true);
select results_eq($$select gpu_seconds, estimated_gpu_seconds, fenced_gpu_seconds from helio_report.usage_daily
    where tenant = 'corrected'$$, $$values (3600::float8, 3600::float8, 3600::float8)$$, 'an estimate is charged, and marked');

-- What its site measured began an hour later.
select pg_temp.hour(1, 3::smallint, -3600000, true);
select pg_temp.hour(2, 4::smallint, 5400000, false);
update helio.attempts set basis = 2, kind = 6, run_ms = 2700000, gpu_ms = 5400000, units_done = 30
where job_id = (select id from job) and epoch = 2;
select results_eq($$select jobs, gpu_seconds, estimated_gpu_seconds, fenced_gpu_seconds, cost_usd, units_done
    from helio_report.usage_daily where tenant = 'corrected'$$,
    $$values (1::bigint, 5400::float8, 0::float8, 5400::float8, 0.054::float8, 30::float8)$$, 'the day has what was measured');
select is((select sum(gpu_seconds) from helio_report.ledger where tenant = 'corrected'), 5400::float8, 'and so has the ledger');
select results_eq($$select gpu_ms, carbon_mg, cost_micro_usd from helio.ledger_days where tenant = 'corrected'$$,
    $$values (5400000::bigint, 540000::bigint, 54000::bigint)$$, 'and what budgets are loaded from');
select results_eq($$select jobs_kwh from helio_report.energy_balance where site = 'given' order by time$$,
    $$values (0::float8), (1.5)$$, 'and the balance of its site');
select results_eq($$select baseline, used_cost_usd, cost_usd_saved from helio_report.savings_daily where tenant = 'corrected'
    order by 1$$, $$values ('home', 0.054::float8, -0.054::float8), ('least-wait', 0.054, -0.054)$$,
    'and what it cost counts against every baseline');

select throws_ok($$update helio.attempts set run_ms = 1 where site = 'given' and epoch = 2$$, 'HE002', null, 'it is corrected once');
select throws_ok($$update helio.attempts set basis = 1 where site = 'given' and epoch = 2$$, 'HE002', null, 'and for good');
select throws_ok($$update helio.attempts set basis = 2 where site = 'given' and epoch = 1$$, 'HE002', null,
    'what a site reported at once stays');
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, at, run_ms, gpu_ms, energy_j, units_done, site, basis)
select id, -1, 3, 7, false, true, d, 1, 1, 0, 0, 'given', 1 from day, job;
select throws_ok(format('update helio.attempts set basis = 2, %s where site = ''given'' and epoch = 3', change), 'HE002', null,
    'not even a correction may say: ' || change)
from unnest(array ['site = ''other''', 'fenced = false', 'completes = true, fenced = false', 'epoch = 4']) as change;
select throws_ok($$delete from helio.attempts where site = 'given'$$, 'HE002', null, 'no attempt is deleted');
select throws_ok($$update helio.ledger set gpu_ms = 0 where tenant = 'corrected'$$, 'HE002', null, 'no row of the ledger changes');

select * from finish();
rollback;
