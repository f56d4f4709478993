-- Jobs that are no arrays, read for boards in a way of their own, say what they say as tasks: in each state, with whatever they wait for.
begin;
select plan(4);

create function pg_temp.job(n integer) returns uuid language sql as $$
    select ('0199f0f1-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid
$$;
insert into helio.tenants (tenant) values ('acme') on conflict do nothing;
insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, awaited_by)
values ('st-lulea', 1, false, 0, 0, 1, 0, 0, false, true, 2), ('st-oslo', 1, false, 0, 0, 1, 0, 0, false, true, 1);
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node, interconnect,
    sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w) values ('st-oslo', 'p', 'H200', 1, 1, 1, 8, 1, 1, 0, 0, true, 0, 0, 0, 0, 0);
-- Each kind of class, of state, of hold, of what was restored, with each other.
create temporary table made as
select row_number() over ()::integer as n, class, state, hold, edited, restored
from generate_series(0, 3) class, unnest('{null, 0, 1, 4, 6, 7, 8, 13}'::integer[]) state, generate_series(0, 4) hold, generate_series(0, 1) edited,
    generate_series(0, 1) restored;
insert into helio.classes (class_id, decision_id, reason, detail, details, at, expected_at) values
    (920001, 1, 'WaitingForCapacity', 'no GPU is free', '[{"code": "NoRoom", "params": {}}]', now(), now() + interval '1 hour'),
    (920002, 1, null, null, null, now(), null);
insert into helio.classes (class_id, decision_id, reason, detail, details, at, expected_at)
select 920003, 1, 'WaitingForCapacity', 'd', jsonb_build_array(jsonb_build_object('code', 'ReservedForIt', 'params', jsonb_build_object('site', 's', 'pool', 'p',
    'from', '2026-03-01T03:00:00Z', 'job_id', helio.job_text(pg_temp.job(1), -1)))), now(), now();
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name, gpu_model, spec_hash, source,
    on_site_loss, goal, flexible_ms, deadline_at)
select pg_temp.job(case restored when 1 then n else 10000 + n end), now(), 3600000, 920000 + class, 1, 1, 1, 0, 'acme', 'ada', 'standard', 'single' || n, 'H100',
    'h', 's', hold % 3, 1, 1000, now()
from made;
create temporary view ids as select m.*, pg_temp.job(case restored when 1 then n else 10000 + n end) as job_id from made m;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, reason, details, at, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, site, pool, started_at)
select job_id, -1, state, 4, 0, 1, 1, 0, 0, 'r' || n, case hold when 4 then '[{"code": "CopiesEnd"}]'::jsonb end, now(), 1, 2, 3, 4, 5,
    'st-oslo', case n % 2 when 0 then 'p' end, case when state > 3 then now() end
from ids where state is not null;
insert into helio.gates (job_id, detail, details, opened_at)
select job_id, 'waits', case hold when 3 then jsonb_build_array(jsonb_build_object('code', 'Dependency', 'params',
        jsonb_build_object('job_id', helio.job_text(pg_temp.job(10000), -1), 'event', 'end'))) end, case hold when 1 then now() end
from ids where hold between 1 and 3;
insert into helio.edits (job_id, at, deadline_at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier, prices_set, queue,
    time_limit_ms)
select job_id, now(), null, 5, 0, 0, 920001, 0, 0, 2, false, 'batch', 7000 from ids where edited = 1;
-- A job that has ended, for which those with hold 3 wait: they go on in turn.
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, spec_hash, source)
values (pg_temp.job(10000), now(), 1, 920001, 1, 1, 1, 0, 'acme', 'standard', 'ended', 'h', 's');
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, at, gpu_ms, cost_micro_usd, energy_j, carbon_mg,
    units_done) values (pg_temp.job(10000), -1, 8, 0, 0, 0, 0, 0, 0, now(), 0, 0, 0, 0, 0);
insert into helio.dependencies (job_id, place, after, on_job, on_task) select job_id, 0, 1, pg_temp.job(10000), -1 from ids where hold = 3;
update helio.federation set restored_job = pg_temp.job(9999), open_from = pg_temp.job(0);

create temporary view expected as
select t.* from helio.tasks_now t where t.job_id between pg_temp.job(0) and pg_temp.job(20000) and not t.of_array;
create temporary view shown as select t.* from helio.single_tasks_now t where t.job_id between pg_temp.job(0) and pg_temp.job(20000);
select is((select count(*) from shown), (select count(*) + 1 from made), 'every job once');
create function pg_temp.columns() returns text language sql as $$
    select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute where attrelid = 'helio.single_tasks_now'::regclass and attnum > 0
$$;
select set_eq('select ' || pg_temp.columns() || ' from shown', 'select ' || pg_temp.columns() || ' from expected', 'and each says the same');
select cmp_ok((select count(distinct (reason, details->0->>'code')) from shown where state = 0), '>', 6::bigint, 'jobs wait for each kind of thing');

update helio.federation set open_from = pg_temp.job(10001);
select is((select min(job_id::text) from shown), pg_temp.job(10001)::text, 'only jobs from the mark on are read');

select * from finish();
rollback;
