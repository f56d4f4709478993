-- The read contract: every view has the columns that were promised, and the reader's login reads nothing else.
begin;
select no_plan();

create temporary table promised (view name, columns text);
insert into promised values
    ('fleet_now', 'site, region, backend, state, last_seen, gpu_model, gpus_total, gpus_free, gpus_reserved, jobs_running, jobs_queued, carbon_g_per_kwh, price_usd_per_gpu_h, pue, latitude, longitude'),
    ('site_capacity', 'time, site, pool, gpu_model, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus'),
    ('site_energy', 'time, site, power_watts, gpu_power_watts, pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_estimated'),
    ('site_price', 'time, site, pool, price_usd_per_gpu_h, electricity_usd_per_kwh'),
    ('forecast_latest', 'time, site, signal, issued_at, value, p10, p90, source, feed_state, last_value_at'),
    ('forecast_error', 'time, site, signal, horizon_h, absolute_error, ape_ratio'),
    ('jobs', 'job_id, name, tenant, user_name, queue, tier, kind, state, home_site, site, gpu_model, gpus, submitted_at, started_at, finished_at, wait_seconds, run_seconds, exit_code, attempts, gpu_seconds, units_done, cost_usd, energy_kwh, carbon_g, reason, goal, deadline, flexible_seconds, time_limit_seconds'),
    ('job_transitions', 'time, job_id, epoch, from_state, to_state, reason, actor'),
    ('placements', 'time, job_id, epoch, site, pool, start_at, score_usd, policy_version, forecast_issued_at, planned_cost_usd, planned_energy_kwh, planned_carbon_g'),
    ('placement_candidates', 'time, job_id, epoch, site, pool, start_at, score_usd, cost_usd, carbon_g, wait_s, transfer_s, rejected_reason, disruption_term_usd'),
    ('edits', 'time, job_id, tenant, actor, field, from_value, to_value'),
    ('moves', 'time, job_id, epoch, from_site, from_pool, to_site, to_pool, moved, saves_usd, move_term_usd, reason'),
    ('migrations', 'time, job_id, epoch, from_site, from_pool, to_site, to_pool, reached_target, saves_usd, disruption_term_usd, reason, details'),
    ('queue_waiting', 'time, tenant, queue, reason, jobs, gpus'),
    ('queue_wait', 'time, queue, tenant, jobs, wait_p50_seconds, wait_p95_seconds'),
    ('usage_daily', 'time, tenant, site, gpu_model, queue, jobs, gpu_seconds, energy_kwh, carbon_g, cost_usd, units_done'),
    ('savings_daily', 'time, tenant, baseline, carbon_g_saved, cost_usd_saved, energy_kwh_saved, wait_seconds_saved, jobs, jobs_estimated, carbon_kind, used_carbon_g, used_cost_usd, used_energy_kwh, used_wait_seconds, baseline_carbon_g, baseline_cost_usd, baseline_energy_kwh, baseline_wait_seconds'),
    ('savings', 'time, job_id, tenant, baseline, baseline_site, carbon_kind, estimated, carbon_g_saved, cost_usd_saved, energy_kwh_saved, wait_seconds_saved, used_carbon_g, used_cost_usd, used_energy_kwh, used_wait_seconds, baseline_carbon_g, baseline_cost_usd, baseline_energy_kwh, baseline_wait_seconds'),
    ('ledger', 'time, job_id, epoch, tenant, site, pool, gpu_model, queue, gpu_seconds, energy_kwh, carbon_g, cost_usd, fenced, energy_provenance, pue, carbon_g_per_kwh, carbon_kind, carbon_factor, carbon_source, carbon_issued_at, carbon_estimated, price_usd_per_gpu_h, price_source, price_estimated'),
    ('forecast_error_by_horizon', 'site, signal, pool, kind, factor, horizon_h, hours, bias, mean_absolute_error, mean_ape_ratio'),
    ('energy_balance', 'time, site, jobs_kwh, idle_kwh, foreign_kwh, overhead_kwh, meter_kwh, difference_ratio, closed, estimated'),
    ('budgets', 'tenant, queue, kind, period, unit, budget, used, committed, remaining, gone_ratio, begins_at, ends_at, of_each'),
    ('duration_error', 'time, tenant, basis, runs, median_ratio, within_p90_ratio'),
    ('utilization_hourly', 'time, site, gpu_model, allocated_ratio, sm_active_ratio, memory_used_ratio, units_per_gpu_hour');

select has_view('helio_report', view, 'view ' || view) from promised;
select has_column('helio_report', view, c::name, view || '.' || c) from promised, regexp_split_to_table(columns, ', ') c;
select col_type_is('helio_report', view, 'time', 'timestamp with time zone', view || '.time is a time')
from promised where columns like 'time,%';
select ok(obj_description(('helio_report.' || view)::regclass) is not null, view || ' says what it is') from promised;
select is((select string_agg(c.relname || '.' || a.attname, ', ' order by c.relname, a.attnum)
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           where c.relnamespace = 'helio_report'::regnamespace and coalesce(col_description(c.oid, a.attnum), '') = ''),
          null, 'every column says what it holds');
select matches(col_description(format('helio_report.%I', v.viewname)::regclass, a.attnum), '^Deprecated, removed in the next release: always null',
    format('%s.%s, which is always null, is documented as deprecated', v.viewname, a.attname))
from pg_views v cross join lateral regexp_matches(v.definition, '\mNULL::[a-z ]+ AS (\w+)', 'g') n
join pg_attribute a on a.attrelid = format('helio_report.%I', v.viewname)::regclass and a.attname = n[1]
where v.schemaname = 'helio_report';
select is((select count(*) from pg_class where relnamespace = 'helio_report'::regnamespace and relkind <> 'v'), 0::bigint,
    'nothing but views in helio_report');

select has_role(name, 'role ' || name) from unnest(array ['helio_owner', 'helio_broker', 'helio_reader']::name[]) name;
select ok(rolcanlogin and not rolsuper and not rolcreaterole and not rolcreatedb and rolconnlimit = 20, 'the reader may log in, little else')
from pg_roles where rolname = 'helio_reader';
select ok(setconfig @> array ['default_transaction_read_only=on', 'statement_timeout=30s', 'jit=off'], 'the reader is read-only and bounded')
from pg_db_role_setting where setrole = 'helio_reader'::regrole and setdatabase = 0;
select ok(not has_schema_privilege('helio_reader', 'helio', 'usage'), 'the reader does not see schema helio');
select ok(not has_table_privilege('helio_reader', c.oid, 'select'), 'the reader cannot read ' || relname)
from pg_class c where relnamespace = 'helio'::regnamespace and relkind in ('r', 'v');
select ok(has_table_privilege('helio_reader', c.oid, 'select') and not has_table_privilege('helio_reader', c.oid,
    'insert, update, delete'), 'the reader reads ' || relname)
from pg_class c where relnamespace = 'helio_report'::regnamespace;

select ok(not has_table_privilege('helio_broker', ('helio.' || name)::regclass, 'update, delete, truncate'),
    'the broker cannot change ' || name)
from unnest(array ['ledger', 'attempts', 'transitions', 'audit', 'edited', 'rates', 'baselines']) name;
select ok(not has_schema_privilege('helio_broker', 'helio', 'create'), 'the broker makes no tables');

-- As the reader: each view runs, the tables do not.
set local role helio_reader;
select lives_ok(format('select * from helio_report.%I limit 1', viewname), 'reads ' || viewname)
from pg_views where schemaname = 'helio_report';
select throws_ok('select * from helio.jobs', '42501', null, 'but not helio.jobs');
select throws_ok('select * from helio.tokens', '42501', null, 'nor helio.tokens');
reset role;

select * from finish();
rollback;
