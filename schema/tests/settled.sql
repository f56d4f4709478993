-- Jobs that are over are settled: counted once, and those that are not are found all the same.
begin;
select no_plan();

create function pg_temp.job(n integer, tasks integer[] default null) returns uuid language sql as $$
    insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source, tasks)
    values ((lpad(to_hex(1795000000000 + n * 3600000::bigint), 12, '0') || '7000800000000000' || lpad(n::text, 4, '0'))::uuid,
            now(), 1, 1, 1, 1, 1, 0, 'set-' || n % 2, 'standard', '', '', tasks) returning job_id $$;
create function pg_temp.state(n integer, of_task integer, of_state integer) returns void language sql as $$
    insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms,
        cost_micro_usd, energy_j, carbon_mg, units_done)
    select job_id, of_task, of_state, 0, 0, 1, 1, 0, 0, 10, 20, 30, 40, 0 from helio.jobs where right(job_id::text, 4) = lpad(n::text, 4, '0')
    on conflict (job_id, task) do update set state = excluded.state $$;
create function pg_temp.open() returns text language sql as $$
    select coalesce(string_agg(right(job_id::text, 2), ' ' order by job_id), '') from helio.open_jobs $$;
create function pg_temp.sums(of_state integer) returns text language sql as $$
    select concat_ws(' ', sum(tasks), sum(gpu_ms), sum(carbon_mg)) from helio.totals_now where state = of_state and tenant like 'set-%' $$;

-- Twelve jobs, an hour apart, and after two days one more: 1 is held, 2 is an array with a task that runs.
select pg_temp.job(n, case when n = 2 then '{0,1}'::integer[] end) from generate_series(1, 12) n;
select pg_temp.job(60);
select pg_temp.state(n, -1, case when n = 3 then 9 else 8 end) from generate_series(3, 12) n;
select pg_temp.state(1, -1, 13), pg_temp.state(2, 0, 8), pg_temp.state(2, 1, 4);
update helio.federation set open_from = (select min(job_id::text)::uuid from helio.jobs where tenant like 'set-%');

select is(pg_temp.open(), '01 02 60', 'before: by the mark');
create temporary table before as select pg_temp.sums(8) as good, pg_temp.sums(9) as bad, pg_temp.sums(13) as held, pg_temp.sums(0) as queued;
select is(good, '10 100 400', 'before: tasks that succeeded') from before;
select is(queued, '1 0 0', 'a job without a state waits') from before;

select is(helio.settle(5), 4, 'so many at most');
select is((select count(*) from helio.unsettled), 2::bigint, 'what is not over is listed');
select is(pg_temp.open(), '01 02 60', 'and found');
select is((pg_temp.sums(8), pg_temp.sums(9), pg_temp.sums(13), pg_temp.sums(0))::text, (before.*)::text, 'and every sum is what it was') from before;
select is(helio.settle(100), 8, 'the rest');
select is(helio.settle(100), 0, 'nothing is left: the last one is of the newest day');
select is(pg_temp.open(), '01 02 60', 'an old job is open still');
select is((pg_temp.sums(8), pg_temp.sums(9), pg_temp.sums(13), pg_temp.sums(0))::text, (before.*)::text, 'sums, again') from before;
select is((select count(*) from helio.maybe_open), 3::bigint, 'three are looked at, not thirteen');
select is((select string_agg(right(job_id::text, 2), ' ') from helio.ended_badly), '03', 'a failure is listed');
select ok(helio.open_from() > (select f.open_from from helio.federation f), 'the mark is beyond that of the oldest');

select pg_temp.state(1, -1, 11);
select is(pg_temp.open(), '02 60', 'an old one that ended is not open, settled or not');
select is(pg_temp.sums(11), '1 10 40', 'and counted');
select helio.settle(2), helio.settle(2), helio.settle(2);
select is((select count(*) from helio.unsettled), 1::bigint, 'then it is settled');
select is(pg_temp.sums(11), '1 10 40', 'and counted once');
select pg_temp.state(2, 1, 8);
select helio.settle(10), helio.settle(10);
select is(pg_temp.sums(8), '11 110 440', 'an array is, with its last task');
select is((select count(*) from helio.unsettled), 0::bigint, 'nothing is left behind');
select is(pg_temp.open(), '60', 'the newest waits');

-- A job that comes later has a larger id, but the clock may have gone back: the mark never passes the newest.
select ok((select mark from helio.settled) <= (select max(job_id::text)::uuid from helio.jobs), 'no id that is to come lies below the mark');
rollback;
