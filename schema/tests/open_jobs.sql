-- Open jobs are read without the jobs that are over, and the newest jobs without the older ones.
begin;
select no_plan();

-- ---- four thousand jobs that are over, and few that are not ----------------------------------------------

create temporary table made as
select i, ('0199c0c2-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid as job_id, case i % 2 when 0 then 'oj-a' else 'oj-b' end as tenant,
    case when i in (20, 4002) then array [0, 7] end as tasks, '2026-05-01 00:00+00'::timestamptz + i * interval '1 minute' as at
from generate_series(1, 4010) i;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, gpu_model, spec_hash, source, tasks,
    goal, flexible_ms, deadline_at, id_text)
select job_id, at, 1000, 1, 8, 1, 1, 1, tenant, 'standard', 'oj-' || i, 'H100', 'h', convert_to(repeat(md5(i::text), 50), 'UTF8'), tasks, 1, 1000,
    at + interval '1 day', helio.job_text(job_id, -1) from made;
-- The first waits since it was submitted, and one is held: they are the open backlog. Of the last ten some have never been placed.
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, at, started_at, finished_at, site, pool, reason, exit_code)
select m.job_id, t.task, s.state, 4, 0, 1, 1, 0, 0, 1, 2, 3, 4, 5, m.at, m.at, case when s.state = 8 then m.at end, 'ojs', 'p',
    case when s.state = 13 then 'HeldAfterFailures' end, case when s.state = 8 then 0 end
from made m cross join lateral unnest(coalesce(m.tasks, '{-1}')) t (task)
cross join lateral (select case when m.i = 10 then 13 when m.i = 4003 then 4 when (m.i, t.task) = (4002, 0) then 8 when (m.i, t.task) = (20, 7) then 5
    when m.i <= 4000 then 8 end as state) s
where s.state is not null and m.i <> 1;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j, units_done, site)
select job_id, task, 1, 5, true, false, at, at, at, 1500, 4, 1, 8, 'ojs' from helio.job_state s where s.state = 8 and s.site = 'ojs';
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node, interconnect,
    sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w) values ('ojs', 'p', 'H200', 1, 1, 1, 8, 1, 1, 0, 0, true, 0, 0, 0, 0, 0);
insert into helio.edits (job_id, at, deadline_at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier, prices_set, queue,
    time_limit_ms)
select job_id, at, null, 5, 0, 0, 1, 0, 0, 2, false, 'batch', 7000 from made where i in (5, 4004);
insert into helio.classes (class_id, decision_id, reason, detail, at) values (1, 990001, 'WaitingForCapacity', 'only 3 GPUs are free', now());
insert into helio.unsettled select job_id from made where i in (1, 10, 20);
update helio.federation set open_from = (select job_id from made where i = 4001);
insert into helio.readers (reader, tenant) values ('pgtap_open_jobs', 'oj-a');
create role pgtap_open_jobs;
grant usage on schema helio_report to pgtap_open_jobs;
grant select on all tables in schema helio_report to pgtap_open_jobs;
analyze helio.jobs, helio.job_state, helio.attempts;

-- ---- the same rows ----------------------------------------------------------------------------------------

-- What jobs and open_jobs show, from all tasks there are.
create temporary table expected as
select helio.text_of_job(n.id_text, n.job_id) || case when n.of_array then '.' || n.task else '' end as job_id, n.name, n.tenant, n.queue,
    helio.tier_word(n.tier) as tier, helio.state_word(n.state) as state, n.site, n.pool, n.gpu_model, n.started_at, n.finished_at, n.run_seconds, n.exit_code,
    n.attempts, n.cost_usd, n.units_done, n.reason, n.detail, n.details, helio.goal_word(n.goal) as goal, n.deadline_at as deadline,
    n.flexible_ms / 1000.0::float8 as flexible_seconds, n.time_limit_ms / 1000.0::float8 as time_limit_seconds
from helio.tasks_now n where n.tenant like 'oj-%';
grant select on expected to pgtap_open_jobs;
select is((select count(*) from expected), 4012::bigint, 'every task once');
create function pg_temp.columns_of(seen text) returns text language sql as $$
    select 'select job_id, name, tenant, queue, tier, state, site, pool, gpu_model, started_at, round(run_seconds::numeric), attempts, cost_usd, units_done, reason,
        details, goal, deadline, flexible_seconds, time_limit_seconds' || seen || case current_user when 'pgtap_open_jobs' then ' and tenant = ''oj-a''' else '' end
$$;
create function pg_temp.differences(one text, other text) returns bigint language plpgsql as $$
declare
    found bigint;
begin
    execute format('select count(*) from ((%1$s except all %2$s) union all (%2$s except all %1$s)) d', one, other) into found;
    return found;
end
$$;
create function pg_temp.same(who text) returns setof text language plpgsql as $$
begin
    return next is(pg_temp.differences(pg_temp.columns_of(', finished_at, exit_code from helio_report.jobs where tenant like ''oj-%'''),
        pg_temp.columns_of(', finished_at, exit_code from expected where true')), 0::bigint, 'jobs has every task, for ' || who);
    return next is(pg_temp.differences(pg_temp.columns_of(', detail from helio_report.open_jobs where tenant like ''oj-%'''),
        pg_temp.columns_of(', detail from expected where finished_at is null')), 0::bigint, 'open_jobs has those that are not over, for ' || who);
end
$$;
select * from pg_temp.same('the operator');
set local role pgtap_open_jobs;
select * from pg_temp.same('a reader of a tenant');
select results_eq('select distinct tenant from helio_report.open_jobs', $$values ('oj-a')$$, 'which sees its own alone');
reset role;
select results_eq($$select state, count(*)::integer from helio_report.open_jobs where tenant like 'oj-%' group by 1 order by 1$$,
    $$values ('held', 1), ('queued', 10), ('running', 1), ('suspended', 1)$$, 'all states that are open, and arrays task by task');
select results_eq($$select name, detail from helio_report.open_jobs where state = 'queued' and tenant like 'oj-%' order by submitted_at limit 1$$,
    $$values ('oj-1', 'only 3 GPUs are free')$$, 'what it waits for is said in a sentence');

-- ---- what is read -----------------------------------------------------------------------------------------

create function pg_temp.plan_of(query text) returns json language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, timing off, format json) ' || query into plan;
    return plan;
end
$$;
-- All nodes of a plan.
create function pg_temp.nodes_of(plan json) returns setof json language sql as $$
    with recursive n (node) as (
        select plan->0->'Plan'
        union all
        select p from n cross join lateral json_array_elements(n.node->'Plans') p
    )
    select node from n
$$;
create function pg_temp.read_of(plan json, tables text[]) returns numeric language sql as $$
    select coalesce(sum(((n->>'Actual Rows')::numeric + coalesce((n->>'Rows Removed by Filter')::numeric, 0)) * (n->>'Actual Loops')::numeric), 0)
    from pg_temp.nodes_of(plan) n where n->>'Relation Name' = any (tables)
$$;
set local random_page_cost = 1.1; -- as readers have it
create temporary table boards (name text, query text, most integer);
insert into boards values
    ('how many run', $$select count(*) from helio_report.open_jobs where state = 'running'$$, 200),
    ('open jobs by state and queue', 'select state, queue, count(*), sum(gpus) from helio_report.open_jobs group by 1, 2', 200),
    ('what jobs wait for', $$select queue, reason, count(*), max(wait_seconds) from helio_report.open_jobs where state = 'queued' group by 1, 2$$, 200),
    ('the longest waiting', $$select job_id, wait_seconds, coalesce(detail, reason) from helio_report.open_jobs where state = 'queued'
        order by wait_seconds desc limit 50$$, 200),
    ('open jobs at a site', $$select job_id, run_seconds from helio_report.open_jobs where site = 'ojs' order by started_at desc nulls last limit 100$$, 200),
    ('the newest hundred', $$select * from helio_report.jobs where submitted_at >= '2026-04-20' and submitted_at < '2026-05-03'
        order by submitted_at desc limit 100$$, 500),
    ('the newest hundred, by the other name', 'select job_id, state from helio_report.jobs order by time desc limit 100', 500);
create temporary table seen (name text, who text, most integer, read numeric, sorted boolean);
do $$
declare
    b record;
    plan json;
    who text;
begin
    for b in select * from boards loop
        foreach who in array array ['the operator', 'pgtap_open_jobs'] loop
            if who <> 'the operator' then
                execute format('set local role %I', who);
            end if;
            plan := pg_temp.plan_of(b.query);
            reset role;
            insert into seen values (b.name, who, b.most, pg_temp.read_of(plan, '{jobs, job_state}'),
                exists (select from pg_temp.nodes_of(plan) n where n->>'Node Type' = 'Sort'));
        end loop;
    end loop;
end
$$;
select ok(read between 1 and most, format('%s, for %s: %s rows of jobs and their states', name, who, read)) from seen;
select ok(not sorted, format('%s, for %s: no sort', name, who)) from seen where name ~ '^the newest';

select * from finish();
rollback;
