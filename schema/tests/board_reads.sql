-- What boards of one site and of today read does not grow with what other sites and days have.
begin;
select no_plan();
set local jit = off;
set local max_parallel_workers_per_gather = 0;
set local random_page_cost = 1.1; -- as readers have it

create function pg_temp.plan_of(query text) returns json language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, timing off, format json) ' || query into plan;
    return plan->0->'Plan';
end
$$;
create function pg_temp.blocks_of(query text) returns bigint language plpgsql as $$
declare
    plan json;
begin
    perform pg_temp.plan_of(query); -- what is read of the catalogue once is not counted
    plan := pg_temp.plan_of(query);
    return (plan->>'Shared Hit Blocks')::bigint + (plan->>'Shared Read Blocks')::bigint;
end
$$;
create function pg_temp.nodes_of(plan json) returns setof json language sql as $$
    with recursive n (node) as (
        select plan
        union all
        select p from n cross join lateral json_array_elements(n.node->'Plans') p
    )
    select node from n
$$;

-- ---- samples ----------------------------------------------------------------------------------------------

-- Sixty days of four sites with two pools each; the last day is not summed up yet.
insert into helio.sites (site, state, draining, latitude, longitude, timezone, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases)
select 'br' || i, 2, false, 50, i, 'UTC', 1.2, 200, 0.1, true, true from generate_series(0, 3) i;
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node, interconnect,
    sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w)
select 'br' || i, p, 'H100', 1, 1, 1, 8, 1, 1, 0, 0, true, 2, 60, 80, 240, 100 from generate_series(0, 3) i, unnest(array ['a', 'b']) p;
insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
    jobs_running, jobs_queued, site_power_w)
select p.site, p.pool, t, 1, 8, 5, 3, 0, 3, 5, 1, 1000
from generate_series(helio.utc_day(now()) - interval '60 days', now(), '10 minutes') t, helio.pools p where p.site ~ '^br' order by t;
update helio.rolled set rolled_to = helio.utc_day(now()) - interval '60 days', announced_to = helio.utc_day(now()) - interval '60 days', announced_by = null;
select helio.roll(3::smallint, helio.utc_day(now()) - interval '60 days', helio.utc_day(now()) - interval '1 day');
update helio.rolled set rolled_to = helio.utc_day(now()) - interval '1 day', announced_to = helio.utc_day(now()) - interval '1 day';
analyze helio.capacity_samples, helio.capacity_hours, helio.pools, helio.sites;

create temporary table site_boards (name text, most integer, query text);
insert into site_boards values
    ('samples of a day', 60, $$select avg(gpus_allocated) from helio_report.site_capacity where site in ('br1') and "time" between now() - interval '10 days'
        and now() - interval '9 days'$$),
    ('use by the hour', 400, $$select "time", allocated_ratio from helio_report.utilization_hourly where site in ('br1') and "time" between now() - interval '10 days'
        and now() - interval '9 days'$$),
    ('use by the hour, of a day that is not summed up', 400, $$select "time", allocated_ratio from helio_report.utilization_hourly where site in ('br1')
        and "time" >= helio.utc_day(now()) - interval '1 day' and "time" < helio.utc_day(now())$$);
select cmp_ok(pg_temp.blocks_of(b.query), '<=', b.most::bigint, b.name) from site_boards b;
select is((select count(*) from helio_report.site_capacity where site ~ '^br'), (select count(*) from helio.capacity_samples where site ~ '^br'), 'all samples are there');
select is((select count(*) from helio_report.utilization_hourly where site = 'br1' and "time" >= helio.utc_day(now()) - interval '1 day'
    and "time" < helio.utc_day(now())), 24::bigint, 'and all hours of the day that is not summed up');

-- A sample of a broker whose clock is ahead, and one of an hour that was summed up.
insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
    jobs_running, jobs_queued, site_power_w)
values ('br1', 'a', helio.utc_hour(now()) + interval '2 hours', 1, 8, 8, 0, 0, 0, 8, 0, 1000),
    ('br1', 'a', helio.utc_day(now()) - interval '10 days' + interval '1 minute', 1, 1000, 1000, 0, 0, 0, 8, 0, 1000);
select is((select allocated_ratio from helio_report.utilization_hourly where site = 'br1' and "time" = helio.utc_hour(now()) + interval '2 hours'),
    1::float8, 'a sample of hours to come is seen');
select cmp_ok((select allocated_ratio from helio_report.utilization_hourly where site = 'br1' and "time" = helio.utc_day(now()) - interval '10 days'),
    '>', 0.9::float8, 'a late one, too');

-- ---- jobs of today ----------------------------------------------------------------------------------------

-- Three thousand that are compacted, and four thousand that are not: the newest three thousand of these wait.
create temporary table made as
select i, ('0199c1c2-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid as job_id, helio.utc_day(now()) - interval '3 days' + i * interval '36 seconds' as at
from generate_series(1, 7000) i;
insert into helio.classes (class_id, decision_id, reason, detail, at) values (88001, 1, 'NoCapacity', 'full', now());
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, spec_hash, source, id_text)
select job_id, at, 1000, 88001, 1, 1, 1, 1, 'br', 'standard', 'br-' || i, 'h', '', helio.job_text(job_id, -1) from made;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, at, started_at, finished_at, site, pool)
select job_id, -1, case when i % 10 = 0 then 9 else 8 end, 4, 0, 1, 1, 0, 0, 7, 2, 3, 4, 5, at, at, at, 'br' || i % 4, 'a' from made where i <= 4000;
update helio.federation set open_from = '00000000-0000-0000-0000-000000000000';
update helio.settled set mark = (select job_id from made where i = 3001);
analyze helio.jobs, helio.job_state, helio.classes;

select is((select sum(jobs) from helio_report.jobs_hourly where state = 'failed' and "time" >= helio.utc_day(now()) - interval '2 days'
    and "time" < now() + interval '1 day'), 100::numeric, 'failed jobs that are not compacted');
-- An index on both would ask of each row of its pages whether it is compacted.
select is((select count(*) from pg_temp.nodes_of(pg_temp.plan_of($$select sum(jobs) from helio_report.jobs_hourly where "time" >= now() - interval '1 day'$$)) n
           where n->>'Relation Name' = 'jobs' and n::text ~ 'settled_to' and n::text ~ 'date_bin'), 0::bigint, 'are found by the key alone');
select results_eq($$select state, sum(tasks)::integer, sum(gpu_ms)::integer from helio.totals_now where tenant = 'br' group by 1 order by 1$$,
    $$values (0::smallint, 3000, 0), (8::smallint, 900, 6300), (9::smallint, 100, 700)$$, 'totals of those that are not compacted');
create function pg_temp.states_read(query text) returns numeric language sql as $$
    select coalesce(sum(((n->>'Actual Rows')::numeric + coalesce((n->>'Rows Removed by Filter')::numeric, 0)) * (n->>'Actual Loops')::numeric), 0)
    from pg_temp.nodes_of(pg_temp.plan_of(query)) n where n->>'Relation Name' = 'job_state'
$$;
select cmp_ok(pg_temp.states_read('select state, sum(tasks) from helio.totals_now group by 1'), '<', 2000::numeric,
    'totals read the states of recent jobs');
select cmp_ok(pg_temp.blocks_of($$select job_id, wait_seconds from helio_report.jobs where site in ('br1') and finished_at is not null
    and "time" >= helio.utc_day(now()) - interval '4 days' and "time" < now() + interval '1 day' order by "time" desc limit 100$$), '<', 32000::bigint,
    'a list of jobs that ended does not look what the others wait for');

select * from finish();
rollback;
