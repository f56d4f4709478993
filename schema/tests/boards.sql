-- What dashboards read of years: one job in every view by its id, and sums that are always those of their rows.
begin;
select no_plan();

-- ---- many jobs, and a few arrays --------------------------------------------------------------------------

create temporary table day as select '2026-04-01 00:00+00'::timestamptz as d;
create temporary table made as
select i, ('0199b0a2-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid as job_id, case i % 2 when 0 then 'bo-a' else 'bo-b' end as tenant,
    case when i <= 4 then array [0, 7] end as tasks, d + i * interval '1 minute' as at
from generate_series(1, 4000) i, day;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, spec_hash, source, tasks)
select job_id, at, 1, 1, 8, 1, 1, 1, tenant, 'standard', 'bo-' || i, 'h', convert_to(repeat(md5(i::text), 50), 'UTF8'), tasks from made;
create temporary table ran as select m.*, t.task from made m cross join lateral unnest(coalesce(m.tasks, '{-1}')) t (task);
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, at, started_at, finished_at, site, pool)
select job_id, task, 8, 4, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, at, at, at, 'bs', 'p' from ran;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j, units_done, site)
select job_id, task, 1, 5, true, false, at, at, at, 1, 4, 1, 8, 'bs' from ran;
insert into helio.decisions (decision_id, at, class_id, detail) select 770000 + i, at, 1, 'moved from bs to bt: saves' from made;
insert into helio.candidates (decision_id, rank, site, pool, score_micro_usd, cost_micro_usd, energy_j, carbon_mg)
select 770000 + i, r, (array ['bs', 'bt'])[r + 1], 'p', 1, 1, 1, 1 from made, generate_series(0, 1) r;
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
    planned_carbon_mg, at, site, pool)
select job_id, task, e, 1, 1, 770000 + i, 1, 1, 1, 1, at, (array ['bs', 'bt'])[e], 'p' from ran, generate_series(1, 2) e;
insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at, reason)
select 770000000 + row_number() over (), job_id, task, 1, f, f + 1, at, case f when 5 then 'moved from bs to bt: saves' end
from ran, unnest(array [1, 2, 3, 5]) f;
insert into helio.edited (seq, place, job_id, at, actor, field, before, after) select 770000000 + i, 0, job_id, at, 'x', 'goal', 'a', 'b' from made;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue)
select job_id, task, 1, helio.utc_hour(at), 4, 5, 6, 7, false, tenant, 'bs', 'standard' from ran;
insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_site, home_energy_j,
    home_carbon_mg, home_cost_micro_usd, least_wait_ms, least_energy_j, least_carbon_mg, least_cost_micro_usd, estimated)
select job_id, task, tenant, at, 1, 1, 1, 1, 1, 'bh', 1, 1, 1, 1, 1, 1, 1, false from ran;
analyze helio.baselines, helio.jobs, helio.job_state, helio.attempts, helio.decisions, helio.candidates, helio.placements, helio.transitions, helio.edited,
    helio.ledger;

insert into helio.readers (reader, tenant) values ('pgtap_boards', 'bo-a');
create role pgtap_boards;
grant usage on schema helio_report to pgtap_boards;
grant select on all tables in schema helio_report to pgtap_boards;

-- ---- a job by its id --------------------------------------------------------------------------------------

create temporary table asked as
select v.name, a.who, a.id, a.tenant, v.name <> 'edits' as of_tasks, a.of_tasks as is_task
from (select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'job_id'
      where c.relnamespace = 'helio_report'::regnamespace) v,
    (select helio.job_text(r.job_id, t.task) as id, r.tenant, w.who, t.task = r.task as of_tasks
     from ran r cross join lateral (select r.task union select -1) t (task) cross join (values (null), ('pgtap_boards')) w (who)
     where r.i in (2, 3, 3000, 3001) and r.task in (-1, 7)) a;

-- Pages that a query reads: buffers that were found, or read.
create function pg_temp.pages_of(query text) returns bigint language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, timing off, format json) ' || query into plan;
    return (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
end
$$;
create temporary table answered (name name, who text, id text, tenant text, is_there boolean, rows bigint, pages bigint);
do $$
declare
    a record;
    found bigint;
    pages bigint;
begin
    for a in select * from asked loop
        if a.who is not null then
            execute format('set local role %I', a.who);
        end if;
        execute format('select count(*) from helio_report.%I where job_id = %L', a.name, a.id) into found;
        pages := pg_temp.pages_of(format('select * from helio_report.%I where job_id = %L', a.name, a.id)); -- the first has the catalogue's, too
        pages := pg_temp.pages_of(format('select * from helio_report.%I where job_id = %L', a.name, a.id));
        reset role;
        -- edits are of an array as a whole, everything else is of its tasks
        insert into answered values (a.name, a.who, a.id, a.tenant, a.of_tasks = a.is_task or a.id !~ '[.]' and a.is_task, found, pages);
    end loop;
end
$$;
select is((select count(distinct name) from answered), 10::bigint, 'views that have a job_id');
-- Of a table of 4,000 jobs any scan is more than that.
select ok(max(pages) <= 150, format('%s finds a job by its id, for %s: %s pages', name, coalesce(who, 'the operator'), max(pages)))
from answered group by name, who;
select ok(bool_and((rows > 0) = is_there) and bool_or(is_there), name || ' has it')
from answered where (who is null or tenant = 'bo-a') and name <> 'open_jobs' group by name;
select is(sum(rows), 0::numeric, 'open_jobs has none that is over') from answered where name = 'open_jobs';
select is(sum(rows), 0::numeric, name || ' shows a reader no job of others') from answered where who is not null and tenant <> 'bo-a' group by name;

-- What a hash finds, whoever asks knew already; a comparison would tell ids of others apart.
create function pg_temp.plan_of(query text) returns text language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (format json, costs off) ' || query into plan;
    return plan::text;
end
$$;
grant select on answered to pgtap_boards;
set local role pgtap_boards;
set local enable_seqscan = off;
select ok(pg_temp.plan_of(format($q$select * from helio_report.%I where job_id >= '01k6' and job_id < '01k7'$q$, name))
    !~ '"Index Cond": "[^"]*helio\.job_text', 'a comparison of ids reaches no index of ' || name) from (select distinct name from answered) n;
reset enable_seqscan;
reset role;
select ok(pg_temp.plan_of($$select sum(cost_usd) from helio_report.ledger where time > now() - interval '1 day'$$) !~ '"Relation Name": "job',
    'who does not ask for the id reads no jobs');

-- ---- a job by its name ------------------------------------------------------------------------------------

select brin_summarize_new_values('helio.jobs_name') > 0 as summarised \gset
-- At this size a scan costs no more.
set local enable_seqscan = off;
set local enable_indexscan = off;
select ok(pg_temp.plan_of($$select t.job_id from helio.tasks_now t where t.name = 'bo-none' order by t.job_id desc, t.task limit 101$$)
    ~ '"Index Name": "jobs_name"', 'a name that is rare reaches its index');
reset enable_seqscan;
reset enable_indexscan;

-- ---- sums -------------------------------------------------------------------------------------------------

create temporary table hours as select d + n * interval '1 hour' as hour, n from day, generate_series(0, 30) n;
insert into helio.rates (rates_id, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh, pue_estimated, price_estimated,
    electricity_estimated, carbon_estimated, site, carbon_kind, carbon_factor)
select 7700 + n, hour, 1, 1, 1, 1, false, false, false, n % 5 = 0, 'bs', (array [null, 'average', 'marginal', 'marginal'])[1 + n % 4], case when n % 4 > 0 then 'lifecycle' end from hours;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, at, run_ms, gpu_ms, energy_j, units_done, site, basis)
select ('0199b0a3-0000-7000-8000-0000000000' || lpad(j::text, 2, '0'))::uuid, -1, e, 7, false, true, d, 1, 100 + j, 0, j * (e % 2), 'bs', e % 2
from day, generate_series(1, 20) j, generate_series(1, 3) e;
-- Rows of twenty jobs, of several epochs, sites, queues, kinds of intensity and parts, in statements of any size and order; some come again.
do $$
begin
    perform setseed(0.5);
    for statement in 1..60 loop
        insert into helio.ledger (job_id, task, epoch, hour, part, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, estimated, tenant, site,
            gpu_model, queue, provenance, rates_id)
        select ('0199b0a3-0000-7000-8000-0000000000' || lpad(r.j::text, 2, '0'))::uuid, -1, r.e, h.hour, r.part, case r.part when 3 then -60 else 60 end,
            r.j, 2 * r.j, 3 * r.j, r.e > 1, r.part in (2, 3), 'bo-' || r.j % 3, 'bs' || r.e % 2, case r.j % 4 when 0 then null else 'H100' end,
            case (r.j + h.n) % 3 when 0 then null else 'q' || (r.j + h.n) % 3 end, case r.j % 2 when 0 then 'measured' else 'model' end, 7700 + h.n
        from (select 1 + floor(random() * 20)::integer as j, 1 + floor(random() * 3)::integer as e, floor(random() * 31)::integer as n,
                  floor(random() * 5)::smallint as part from generate_series(1, 1 + statement % 7)) r
        join hours h using (n)
        on conflict do nothing;
        if statement = 30 then
            update helio.attempts set basis = 2, units_done = units_done + 70, gpu_ms = gpu_ms * 2 where basis = 1 and site = 'bs' and at = (select d from day);
        end if;
        insert into helio.baselines (job_id, task, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_energy_j, home_carbon_mg,
            home_cost_micro_usd, least_wait_ms, least_energy_j, least_carbon_mg, least_cost_micro_usd, estimated, tenant, home_site,
            home_carbon_kind, least_site, least_carbon_kind)
        select gen_random_uuid(), -1, d + statement * interval '1 hour', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, i = 2, 'bo-' || i % 3,
            case when i % 4 > 0 then 'h' end, case i when 3 then 'average lifecycle' end, case when i > 1 then 's' end, 'average lifecycle'
        from day, generate_series(1, 1 + statement % 5) i;
    end loop;
end
$$;
create temporary table days_before as
select day, tenant, queue, site, gpu_model, jobs, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced_gpu_ms, estimated_gpu_ms, carbon_estimated_j,
    measured_j, transfer_j, transfer_mg, transfer_micro_usd, round(units_done::numeric, 6) as units_done, carbon_kind_first, carbon_kind_last
from helio.usage_days;
create temporary table first_before as select day, tenant, sum(jobs_first) as jobs from helio.usage_days group by 1, 2;
create temporary table hours_before as
select hour, site, gpu_model, gpu_ms, energy_j, round(units_done::numeric, 6) as units_done from helio.usage_hours;
create temporary table savings_before as select * from helio.savings_days;
select ok(count(*) > 40 and count(distinct u.carbon_kind_first) = 2 and count(*) filter (where u.carbon_kind_first <> u.carbon_kind_last) > 0
        and count(*) filter (where u.jobs > u.jobs_first) > 0 and count(*) filter (where u.units_done <> 0) > 0, 'there is something of everything')
from helio.usage_days u where u.tenant like 'bo-%';
select helio.sum_up();
select bag_eq('select * from days_before', $$select day, tenant, queue, site, gpu_model, jobs, gpu_ms, energy_j, carbon_mg, cost_micro_usd,
    fenced_gpu_ms, estimated_gpu_ms, carbon_estimated_j, measured_j, transfer_j, transfer_mg, transfer_micro_usd, round(units_done::numeric, 6),
    carbon_kind_first, carbon_kind_last from helio.usage_days$$, 'what rows add up to is what all of them are summed up to, by day');
select bag_eq('select * from hours_before', 'select hour, site, gpu_model, gpu_ms, energy_j, round(units_done::numeric, 6) from helio.usage_hours',
    'and by hour');
select bag_eq('select * from savings_before', 'select * from helio.savings_days', 'and what was saved');
select bag_eq('select * from first_before', $$select helio.utc_day(hour), tenant, count(distinct (job_id, task))::numeric from helio.ledger group by 1, 2$$,
    'each task of a day and tenant is counted once, wherever it ran');
select bag_eq($$select time, tenant, site, gpu_model, queue, jobs, gpu_seconds, cost_usd from helio_report.usage_daily$$,
    $$select helio.utc_day(hour), tenant, site, gpu_model, queue, count(distinct (job_id, task)) as jobs, sum(gpu_ms) / 1000.0::float8 as s,
        sum(cost_micro_usd) / 1000000.0::float8 as c from helio.ledger group by 1, 2, 3, 4, 5$$, 'the view of days is the ledger''s');

insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node, interconnect,
    sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w) values ('bu', 'p', 'H100', 1, 1, 1, 8, 1, 1, 0, 0, true, 0, 0, 0, 0, 0);
insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
    jobs_running, jobs_queued, site_power_w)
select 'bu', 'p', d + n * interval '1 hour', 1, 8, 4, 4, 0, 4, 1, 0, 1 from day, generate_series(0, 1) n;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, at, run_ms, gpu_ms, energy_j, units_done, site)
select '0199b0a4-0000-7000-8000-000000000001'::uuid, -1, 1, 5, true, false, d, 1, 7200000, 0, 500, 'bu' from day;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, gpu_model)
select '0199b0a4-0000-7000-8000-000000000001'::uuid, -1, 1, d, 7200000, 0, 0, 0, false, 'bo-a', 'bu', 'H100' from day;
select results_eq($$select units_per_gpu_hour from helio_report.utilization_hourly where site = 'bu' order by time$$,
    $$values (250::float8), (null)$$, 'units per GPU-hour are those of the ledger, and unknown where it has none');

-- ---- what a job asks for ----------------------------------------------------------------------------------

update helio.jobs set goal = 3, flexible_ms = 1500, deadline_at = (select d from day) where name in ('bo-10', 'bo-12');
insert into helio.edits (job_id, at, deadline_at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier, prices_set, queue)
select job_id, d, null, 0, 0, 0, 1, 0, 0, 1, false, 'standard' from day, made where i = 12;
select results_eq($$select name, goal, deadline, flexible_seconds, time_limit_seconds from helio_report.jobs where name in ('bo-10', 'bo-12', 'bo-14')
    order by name$$, $$select 'bo-10', 'green', d, 1.5::float8, 0.001::float8 from day union all select 'bo-12', 'fast', null, 0, 0.001
    union all select 'bo-14', null, null, null, 0.001$$, 'a job shows what it asks for, as edited; an old one does not know');

select * from finish();
rollback;
