-- Sums by the hour say what the rows say: while hours are read raw, when they are summed up, and after rows that come late.
begin;
select no_plan();
select setseed(0.25);
-- As readers and the broker have it: the tables are new, so that plans look dear.
set local jit = off;
set local max_parallel_workers_per_gather = 0;

create temporary table day as select '2026-04-01 00:00+00'::timestamptz as d;
update helio.rolled set rolled_to = (select d from day), announced_to = (select d from day), announced_by = null;

-- What each view has to say, from the rows alone.
create temporary table said (name text, of_view text, of_rows text);
insert into said values
    ('queue_wait', 'select time, queue, tenant, jobs, wait_p50_seconds::numeric(12, 3), wait_p95_seconds::numeric(12, 3) from helio_report.queue_wait',
        $$select helio.utc_hour(b.started_at), coalesce(e.queue, j.queue), j.tenant, count(*),
              (percentile_cont(0.5) within group (order by helio.seconds_between(j.submitted_at, b.started_at)))::numeric(12, 3),
              (percentile_cont(0.95) within group (order by helio.seconds_between(j.submitted_at, b.started_at)))::numeric(12, 3)
          from (select a.job_id, a.started_at from helio.attempts a join helio.job_state s on s.job_id = a.job_id and s.task = a.task
                    and (s.epoch = a.epoch or s.started_at = a.started_at)
                where a.started_at is not null and helio.state_is_over(s.state)
                union all
                select s.job_id, s.started_at from helio.job_state s where s.started_at is not null and not helio.state_is_over(s.state)) b
          join helio.jobs j using (job_id) left join helio.edits e using (job_id) group by 1, 2, 3$$),
    ('duration_error', 'select time, tenant, basis, runs, median_ratio::numeric(12, 6), within_p90_ratio::numeric(12, 6) from helio_report.duration_error',
        $$select helio.utc_day(a.ended_at), j.tenant, helio.duration_basis_word(j.expected_basis), count(*),
              (percentile_cont(0.5) within group (order by a.run_ms::float8 / p.expected_ms))::numeric(12, 6),
              ((count(*) filter (where a.run_ms <= p.expected_high_ms))::float8 / count(*))::numeric(12, 6)
          from helio.attempts a
          join helio.job_state s on s.job_id = a.job_id and s.task = a.task and s.state in (8, 10)
          join helio.jobs j on j.job_id = a.job_id and j.expected_basis is not null
          join helio.placements p on p.job_id = a.job_id and p.task = a.task and p.epoch = 1 and p.expected_ms > 0
          where a.epoch = 1 and a.completes and a.run_ms > 0 group by 1, 2, 3$$),
    ('job_transitions_hourly', 'select time, from_state, to_state, sum(changes) from helio_report.job_transitions_hourly group by 1, 2, 3',
        $$select helio.utc_hour(time), from_state, to_state, count(*)::numeric from helio_report.job_transitions group by 1, 2, 3$$),
    ('job_transitions_hourly of a tenant', $$select time, to_state, changes from helio_report.job_transitions_hourly where tenant = 'ho-1' and from_state = 'starting'$$,
        $$select helio.utc_hour(t.at), helio.state_word(t.to_state), count(*) from helio.transitions t join helio.jobs j using (job_id)
          where j.tenant = 'ho-1' and t.from_state = 3 group by 1, 2$$),
    ('placements_hourly', 'select time, tenant, site, placements, gpus, planned_cost_usd::numeric(12, 6), planned_carbon_g::numeric(12, 3) from helio_report.placements_hourly',
        $$select helio.utc_hour(p.at), j.tenant, p.site, count(*), sum(p.gpus), (sum(p.planned_cost_micro_usd) / 1e6)::numeric(12, 6),
              (sum(p.planned_carbon_mg) / 1e3)::numeric(12, 3)
          from helio.placements p join helio.jobs j using (job_id) group by 1, 2, 3$$),
    ('placement_candidates_hourly', $$select time, site, rejected_reason, sum(candidates), (sum(score_usd * candidates) / sum(candidates))::numeric(12, 6)
          from helio_report.placement_candidates_hourly group by 1, 2, 3$$,
        $$select helio.utc_hour(time), site, rejected_reason, count(*)::numeric, avg(score_usd)::numeric(12, 6) from helio_report.placement_candidates group by 1, 2, 3$$),
    ('ledger_hourly', 'select time, tenant, site, price_source, gpu_seconds::numeric(12, 3), energy_kwh::numeric(12, 9), carbon_g::numeric(12, 3), cost_usd::numeric(12, 6) from helio_report.ledger_hourly',
        $$select time, tenant, site, price_source, sum(gpu_seconds)::numeric(12, 3), sum(energy_kwh)::numeric(12, 9), sum(carbon_g)::numeric(12, 3),
              sum(cost_usd)::numeric(12, 6)
          from helio_report.ledger group by 1, 2, 3, 4$$),
    ('jobs_hourly', 'select time, tenant, queue, state, reason, sum(jobs) from helio_report.jobs_hourly group by 1, 2, 3, 4, 5',
        $$select helio.utc_hour(j.submitted_at), j.tenant, coalesce(e.queue, j.queue), helio.state_word(coalesce(s.state, 0::smallint)), s.details->0->>'code',
              count(*)::numeric
          from helio.jobs j cross join lateral unnest(coalesce(j.tasks, '{-1}')) t (task)
          left join helio.job_state s on s.job_id = j.job_id and s.task = t.task left join helio.edits e on e.job_id = j.job_id group by 1, 2, 3, 4, 5$$),
    ('jobs_hourly and jobs', 'select time, state, sum(jobs) from helio_report.jobs_hourly group by 1, 2',
        'select helio.utc_hour(submitted_at), state, count(*)::numeric from helio_report.jobs group by 1, 2'),
    ('site_capacity_hourly', $$select time, site, pool, gpus_total::numeric(12, 6), gpus_allocated::numeric(12, 6), gpus_free::numeric(12, 6),
            gpus_reserved::numeric(12, 6), largest_block_gpus, nodes_up::numeric(12, 6), jobs_running::numeric(12, 6), jobs_queued::numeric(12, 6)
          from helio_report.site_capacity_hourly$$,
        $$select helio.utc_hour(time), site, pool, avg(gpus_total)::numeric(12, 6), avg(gpus_allocated)::numeric(12, 6), avg(gpus_free)::numeric(12, 6),
              avg(gpus_reserved)::numeric(12, 6), min(largest_block_gpus), avg(nodes_up)::numeric(12, 6), avg(jobs_running)::numeric(12, 6),
              avg(jobs_queued)::numeric(12, 6)
          from helio_report.site_capacity group by 1, 2, 3$$),
    ('site_energy_hourly', 'select time, site, power_watts::numeric(12, 3), pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_estimated from helio_report.site_energy_hourly',
        $$select helio.utc_hour(time), site, avg(power_watts)::numeric(12, 3), min(pue), min(carbon_g_per_kwh), min(carbon_kind), min(carbon_source),
              bool_or(carbon_estimated)
          from helio_report.site_energy group by 1, 2
          having count(distinct (pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_estimated)) = 1$$),
    ('site_price_hourly', 'select time, site, pool, price_usd_per_gpu_h, electricity_usd_per_kwh, price_source, price_estimated from helio_report.site_price_hourly',
        'select distinct helio.utc_hour(time), site, pool, price_usd_per_gpu_h, electricity_usd_per_kwh, price_source, price_estimated from helio_report.site_price'),
    ('utilization_hourly', 'select time, site, allocated_ratio::numeric(12, 9) from helio_report.utilization_hourly',
        'select helio.utc_hour(time), site, (sum(gpus_allocated)::numeric / sum(gpus_total))::numeric(12, 9) from helio_report.site_capacity group by 1, 2');

-- Rows that only one of two queries has; null: none.
create function pg_temp.differences(query text, other text) returns text language plpgsql as $$
declare
    found text;
begin
    execute format($q$with a as materialized (select r::text as row from (%s) r), b as materialized (select r::text as row from (%s) r)
        select string_agg(d.row, ' ') from ((select 'view ' || row as row from (select * from a except all select * from b) x limit 3)
            union all (select 'rows ' || row from (select * from b except all select * from a) y limit 3)) d$q$, query, other) into found;
    return found;
end
$$;

-- ---- a life of 30 hours -----------------------------------------------------------------------------------

insert into helio.sites (site, state, draining, backend, latitude, longitude, timezone, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases,
    agent_version, seen_at)
select 'hs' || i, 2, false, 'slurm', 50, i, 'UTC', 1.2, 200, 0.1, true, true, '1', now() from generate_series(0, 2) i;
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node, interconnect,
    sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w)
select 'hs' || i, p, 'H100', 1, 1, 1, 8, 1, 1, 0, 0, i < 2, 2, 60, 80, 240, 100 from generate_series(0, 2) i, unnest(array ['a', 'b']) p;

create temporary sequence seq;
-- Tasks of a stretch of jobs: queued, running, or over after one or two attempts. What is random is drawn once.
create temporary table life (job_id uuid, task integer, tenant text, at timestamptz, first_at timestamptz, run interval, ends smallint, twice boolean, decision_id bigint);
create function pg_temp.live(first integer, last integer) returns void language sql as $$
    insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, spec_hash, source, tasks, expected_basis)
    select ('0199b0a9-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, d + random() * interval '30 hours', 1, 1, 1 + i % 8, 1, 1, 1, 'ho-' || i % 3,
        (array ['standard', 'batch'])[1 + i % 2], 'ho', 'h', 's', case when i % 9 = 0 then array [0, 2, 5] end, nullif(i % 4, 0)
    from generate_series(first, last) i, day;
    with fresh as (
        insert into life
        select j.job_id, t.task, j.tenant, j.submitted_at, j.submitted_at + random() * interval '4 hours', random() * interval '6 hours',
            (array [0, 4, 8, 8, 9, 10, 12])[1 + floor(random() * 7)::integer], random() < 0.3, 990000 + floor(random() * 500)
        from helio.jobs j cross join lateral unnest(coalesce(j.tasks, '{-1}')) t (task)
        where j.job_id between ('0199b0a9-0000-7000-8000-0000000' || lpad(first::text, 5, '0'))::uuid
                and ('0199b0a9-0000-7000-8000-0000000' || lpad(last::text, 5, '0'))::uuid
        returning *
    ), gone as (
        insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j, units_done, site, basis)
        select f.job_id, f.task, e, 5, f.ends > 7 and e = f.twice::integer + 1, false, f.first_at + (e - 1) * f.run, f.first_at + e * f.run, f.first_at + e * f.run,
            1 + extract(epoch from f.run) * 1000, 4, 1, 8, 'hs1', (random() < 0.3 and e <= f.twice::integer)::integer
        from fresh f cross join generate_series(1, 2) e where f.ends > 0 and e <= f.twice::integer + (f.ends > 7)::integer
    ), states as (
        insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
            carbon_mg, units_done, at, started_at, finished_at, site, pool, details)
        select f.job_id, f.task, f.ends, 4, 0, 1 + f.twice::integer, 1, 0, 0, 1, 1, 1, 1, 0, f.at, f.first_at + f.twice::integer * f.run, null, 'hs1', 'a',
            case when f.ends = 9 then '[{"code": "ExitCode", "params": {"exit_code": 1}}]'::jsonb end
        from fresh f where f.ends > 0
    ), places as (
        insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
            planned_carbon_mg, at, site, pool, expected_ms, expected_high_ms)
        select f.job_id, f.task, e, 1, 1 + e, f.decision_id, 1, 5, 6, 7, f.first_at + (e - 1) * f.run, 'hs' || (random() * 2)::integer, 'a', 1000000, 8000000
        from fresh f cross join generate_series(1, 2) e where f.ends > 0 and e <= f.twice::integer + 1
    )
    insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at)
    select 880000000 + nextval('pg_temp.seq'), f.job_id, f.task, 1, s, s + 1, f.first_at + s * interval '1 minute'
    from fresh f cross join generate_series(0, 3) s where f.ends > 0;
$$;
select pg_temp.live(1, 300);
insert into helio.decisions (decision_id, at, class_id) select 990000 + n, d, 1 from day, generate_series(0, 499) n;
insert into helio.candidates (decision_id, rank, site, pool, score_micro_usd, cost_micro_usd, energy_j, carbon_mg, rejected_reason)
select 990000 + n, r, 'hs' || r, 'a', n * r, 1, 1, 1, case when n % 3 < r then (array ['NoGpu', 'NoCapacity'])[r] end
from generate_series(0, 499) n, generate_series(0, 2) r;
insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
    jobs_running, jobs_queued, site_power_w)
select p.site, p.pool, d + m * interval '5 minutes', 1 + m % 3, 8, m % 9, 8 - m % 9, m % 2, m % 5, m % 7, m % 11, case when m % 4 = 0 then -1 else m end
from day, helio.pools p, generate_series(0, 360) m where p.site ~ '^hs';
insert into helio.actuals (site, pool, signal, hour, value, issued_at, estimated, kind, source)
select 'hs' || i, '', s, d + h * interval '1 hour', h, d, h % 5 = 0, case s when 3 then 'average' else '' end, 'feed'
from day, generate_series(0, 1) i, generate_series(1, 4) s, generate_series(-2, 25) h where s <> 1 or h % 2 = 0;
insert into helio.rates (rates_id, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh, pue_estimated, price_estimated,
    electricity_estimated, carbon_estimated, site, price_source) select 8800 + n, d, 1, 1, 1, 1, false, false, false, false, 'hs', case n when 1 then 'feed' else 'site file' end
from day, generate_series(1, 2) n;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, rates_id)
select f.job_id, f.task, 1, helio.utc_hour(f.first_at) + h * interval '1 hour', 40, 5, 6, h - 1, false, f.tenant, 'hs' || h % 2, case h when 2 then null else 8801 + h % 2 end
from life f, generate_series(0, 3) h where f.ends > 7;

select isnt_empty(of_rows, 'there is something to compare: ' || name) from said;
select is(pg_temp.differences(of_view, of_rows), null, 'raw: ' || name) from said;

create function pg_temp.roll_all() returns integer language plpgsql as $$
declare
    steps integer := 0;
begin
    while helio.roll_up(9999) > 0 loop
        steps := steps + 1;
    end loop;
    return steps;
end
$$;
select ok(pg_temp.roll_all() >= 3, 'hours are announced, then summed up');
select ok(r.rolled_to = helio.utc_hour(now() - interval '10 minutes') and r.announced_to = r.rolled_to, 'up to now') from helio.rolled r;
select is_empty('select * from helio.stale_hours', 'nothing came late');
select ok((select count(*) from helio.change_hours) > 50 and (select count(*) from helio.placement_hours) > 50 and (select count(*) from helio.candidate_hours) > 50
    and (select count(*) from helio.wait_hours) > 50 and (select count(*) from helio.capacity_hours) > 50 and (select count(*) from helio.power_hours) > 50
    and (select count(*) from helio.duration_days) > 5, 'there are sums of everything');
select is_empty('select hour from helio.change_hours_raw union all select hour from helio.placement_hours_raw union all select hour from helio.wait_hours_raw
    union all select hour from helio.capacity_hours_raw union all select day from helio.duration_days_raw', 'no hour is read from its rows');
select is(pg_temp.differences(of_view, of_rows), null, 'summed up: ' || name) from said;
select is(helio.roll_up(9999), 0, 'and nothing is left to do');

-- ---- what comes late --------------------------------------------------------------------------------------

create function pg_temp.marked(kind integer) returns boolean language sql as $$select exists (select from helio.stale_hours s where s.what = kind)$$;
select pg_temp.live(301, 360);
select ok(bool_and(pg_temp.marked(k)), 'rows of hours that are summed up leave marks') from unnest(array [0, 1, 2, 4]) k;
select is(pg_temp.differences(of_view, of_rows), null, 'late jobs, raw: ' || name) from said;
select pg_temp.roll_all();
select is(pg_temp.differences(of_view, of_rows), null, 'late jobs: ' || name) from said;

-- Each change by itself, so that none hides behind the mark of another.
create function pg_temp.late(what text, change text) returns setof text language plpgsql as $$
begin
    execute change;
    return query select is(pg_temp.differences(of_view, of_rows), null, what || ', raw: ' || name) from said;
    perform pg_temp.roll_all();
    return query select is_empty('select * from helio.stale_hours', what || ' is done with');
    return query select is(pg_temp.differences(of_view, of_rows), null, what || ': ' || name) from said;
end
$$;
select pg_temp.late('a job that ran ends', $$with ended as (update helio.job_state s set state = 8 from life f
        where f.job_id = s.job_id and f.task = s.task and s.state = 4 and f.tenant = 'ho-1' returning s.*)
    insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j, units_done, site)
    select e.job_id, e.task, e.epoch, 5, true, false, e.started_at, e.started_at + interval '3 hours', e.started_at, 10800000, 4, 1, 8, 'hs1' from ended e$$);
select pg_temp.late('a job ends whose attempt was reported before', $$update helio.job_state s set state = 12, started_at = a.started_at from helio.attempts a
    where a.job_id = s.job_id and a.task = s.task and a.epoch = 1 and s.state = 4 and s.epoch = 2$$);
select pg_temp.late('an end is corrected', $$update helio.attempts set basis = 2, started_at = started_at - interval '2 hours',
    ended_at = ended_at + interval '20 hours', run_ms = run_ms * 3, units_done = 9 where basis = 1 and not completes$$);
select pg_temp.late('a job starts anew', $$update helio.job_state set started_at = started_at + interval '90 minutes', epoch = epoch + 1 where state = 4$$);
select pg_temp.late('what was over is not', $$update helio.job_state set state = 13 where state = 9 and job_id in (select job_id from life where tenant = 'ho-2')$$);
select pg_temp.late('a job changes its queue', $$insert into helio.edits (job_id, at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal,
        tier, prices_set, queue)
    select distinct on (f.job_id) f.job_id, f.at, 0, 0, 0, 1, 0, 0, 1, false, 'express' from life f where f.tenant = 'ho-0' and f.ends < 8 and f.twice$$);
select pg_temp.late('and again', $$update helio.edits set queue = 'reserved' where queue = 'express'$$);
select pg_temp.late('a change of state', $$insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at)
    select 880000000 + nextval('pg_temp.seq'), f.job_id, f.task, 1, 4, 8, f.first_at + f.run from life f$$);
select pg_temp.late('a sample', $$insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
        jobs_running, jobs_queued, site_power_w)
    select 'hs2', 'b', d + m * interval '77 minutes' + interval '30 seconds', 1, 16, 3, 13, 0, 1, 2, 3, 400 from day, generate_series(0, 9) m$$);
select pg_temp.late('a charge of use', $$insert into helio.ledger (job_id, task, epoch, hour, part, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, rates_id)
    select f.job_id, f.task, 1, helio.utc_hour(f.first_at), 3, -40, -5, -6, -7, true, f.tenant, 'hs0', 8802 from life f where f.ends > 7$$);
select pg_temp.late('an intensity that is known late', $$update helio.actuals set value = value + 7, estimated = true where signal = 3$$);
-- Jobs of the newest day are compacted later.
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select '0199c0a9-0000-7000-8000-000000000001', d + interval '30 hours', 1, 1, 1, 1, 1, 1, 'ho-1', 'batch', 'h', 's' from day;
select pg_temp.late('compaction', 'select helio.settle(50)');
select ok((select count(*) from helio.job_hours) > 10, 'jobs are compacted');
select pg_temp.late('more of it', 'select helio.settle(10000), helio.settle(10000)');

-- What a restarted or another broker repeats changes no sum.
create temporary table before as select (select sum(changes) from helio.change_hours) as changes, (select sum(jobs) from helio.wait_hours) as waits;
select helio.roll_up(9999), helio.roll_up(9999);
update helio.rolled set rolled_to = (select d from day), announced_to = (select d from day);
select pg_temp.roll_all();
select is(pg_temp.differences(of_view, of_rows), null, 'once more from the beginning: ' || name) from said;
select is((select sum(changes) from helio.change_hours), b.changes, 'nothing is counted twice') from before b;
select is((select sum(jobs) from helio.wait_hours), b.waits, 'nor waits') from before b;
-- A database that was restored to another server may have marks of transactions that this one has not reached.
update helio.rolled set rolled_to = rolled_to - interval '3 hours', announced_by = '9000000000000';
select pg_temp.roll_all();
select ok(r.announced_to = r.rolled_to, 'a restored database goes on') from helio.rolled r;

-- ---- what retention deletes -------------------------------------------------------------------------------

create temporary table kept as select 'capacity' as what, sum(gpus_allocated)::numeric as n from helio_report.site_capacity_hourly where site ~ '^hs'
    union all select 'candidates', sum(candidates) from helio_report.placement_candidates_hourly where tenant ~ '^ho-'
    union all select 'use', sum(allocated_ratio)::numeric(20, 9) from helio_report.utilization_hourly where site ~ '^hs';
delete from helio.candidates where decision_id between 990000 and 990499;
insert into helio.retention (what, deleted, oldest_at, ran_at) select 'decisions', 1, d + interval '100 days', now() from day
on conflict (what) do update set oldest_at = excluded.oldest_at;
delete from helio.capacity_samples where site ~ '^hs';
insert into helio.utilization (site, pool, hour, gpus_allocated, gpus_total) select 'hs0', 'a', d, 100, 100 from day;
insert into helio.stale_hours (what, hour) select k, d + h * interval '1 hour' from day, generate_series(0, 30) h, unnest(array [1, 3]) k;
select pg_temp.roll_all();
select results_eq($$select 'capacity', sum(gpus_allocated)::numeric from helio_report.site_capacity_hourly where site ~ '^hs'
    union all select 'candidates', sum(candidates) from helio_report.placement_candidates_hourly where tenant ~ '^ho-'
    union all select 'use', sum(allocated_ratio)::numeric(20, 9) from helio_report.utilization_hourly where site ~ '^hs'$$,
    'select * from kept', 'sums outlast the rows that retention deletes');

select * from finish();
rollback;
