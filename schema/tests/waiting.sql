-- What waits is counted as tasks_now has it, and without reading what does not wait.
begin;
select no_plan();

create function pg_temp.id(n bigint) returns uuid language sql immutable as $$
    select ('0199e000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid
$$;
create function pg_temp.job(n bigint, of_class bigint, tasks integer, at_once integer) returns void language sql as $$
    insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source, tasks, tasks_at_once)
    values (pg_temp.id(n), now(), 3600000, of_class, 1 + n % 3, 1, 1, 1, 'wa-' || n % 2, 'standard', '', '',
        (select array_agg(i) from generate_series(0, tasks - 1) i), at_once)
$$;
create function pg_temp.state(n bigint, first integer, last integer, as_state integer, why text, says jsonb) returns void language sql as $$
    insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, at, gpu_ms, cost_micro_usd,
        energy_j, carbon_mg, units_done, reason, details)
    select pg_temp.id(n), i, as_state, 0, 0, 1, 1, 0, 0, now(), 0, 0, 0, 0, 0, why, says from generate_series(first, last) i
$$;
create function pg_temp.rows_read() returns bigint language sql as $$
    select sum(coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0))::bigint from pg_stat_xact_user_tables s
    where s.schemaname = 'helio' and s.relname in ('jobs', 'job_state')
$$;
create view pg_temp.as_tasks as
select t.tenant, t.queue, t.reason, count(*) as tasks, sum(t.gpus) as gpus
from helio.maybe_open o join helio.tasks_now t using (job_id) where t.state = 0 group by 1, 2, 3;

-- A past of some thousand jobs, most of which ended and are settled; one of them is still open.
select pg_temp.job(n, 8101, null, null) from generate_series(1, 6000) n;
select pg_temp.state(n, -1, -1, 8, null, null) from generate_series(2, 6000) n;
update helio.federation set open_from = pg_temp.id(5901);
insert into helio.unsettled (job_id) values (pg_temp.id(1));
analyze helio.jobs;
analyze helio.job_state;

insert into helio.classes (class_id, decision_id, reason, detail, at) values (8101, 1, 'NoCapacity', 'full', now());
select pg_temp.job(7000 + n, 8100 + n % 2, null, null) from generate_series(1, 12) n; -- a class without a row, and one with a reason
select pg_temp.state(7003, -1, -1, 4, null, null), pg_temp.state(7004, -1, -1, 13, 'Held', null), pg_temp.state(7010, -1, -1, 0, 'Returned', null),
    pg_temp.state(7006, -1, -1, 0, 'a copy', '[{"code": "CopiesEnd", "params": {}}]');
insert into helio.gates (job_id, detail) values (pg_temp.id(7007), 'waits'), (pg_temp.id(7009), 'waits');
insert into helio.gates (job_id, opened_at, detail) values (pg_temp.id(7008), now(), 'came');
select pg_temp.job(7101, 8101, 2000, null), pg_temp.job(7102, 8101, 2000, 50), pg_temp.job(7103, 8100, 2000, 1500), pg_temp.job(7104, 8101, 20, 30),
    pg_temp.job(7105, 8101, 30, 4), pg_temp.job(7106, 8101, 30, null), pg_temp.job(7107, 8101, 30, 10);
select pg_temp.state(7101, 0, 999, 8, null, null), pg_temp.state(7101, 1000, 1009, 0, 'Returned', null),
    pg_temp.state(7102, 0, 899, 8, null, null), pg_temp.state(7102, 900, 939, 4, null, null), pg_temp.state(7102, 940, 941, 0, null, null),
    pg_temp.state(7102, 942, 943, 0, 'a copy', '[{"code": "CopiesEnd", "params": {}}]'), pg_temp.state(7103, 0, 999, 4, null, null),
    pg_temp.state(7105, 0, 9, 4, null, null), pg_temp.state(7106, 0, 9, 8, null, null);
-- Array 7107 waits for 7106, task by task.
insert into helio.dependencies (job_id, place, after, on_job, on_task) select pg_temp.id(7107), i, 4, pg_temp.id(7106), i from generate_series(0, 29) i;

select set_eq('select tenant, queue, reason, tasks, gpus from helio.waiting_now', 'select * from pg_temp.as_tasks', 'what waits is what the tasks say');
select is(sum(tasks)::bigint, (1 + 10 + 1000 + 1060 + 1000 + 20 + 20 + 20 + 30)::bigint, 'and all of it') from helio.waiting_now where tenant like 'wa-%';
select cmp_ok((select count(distinct reason) from helio.waiting_now where tenant like 'wa-%'), '>=', 4::bigint, 'with its reasons');

-- The counts of the queues and of the tenants.
select set_eq($$select tenant, queue, sum(queued) as a, sum(queued * gpus) as b, sum(live) as c, sum(live * gpus) as d, sum(held) as e, sum(open) as f from helio.open_now group by 1, 2$$,
    $$select t.tenant, t.queue, count(*) filter (where t.state = 0)::numeric as a, coalesce(sum(t.gpus) filter (where t.state = 0), 0)::numeric as b,
        count(*) filter (where helio.state_is_live(t.state))::numeric as c,
        coalesce(sum(t.gpus) filter (where helio.state_is_live(t.state)), 0)::numeric as d,
        count(*) filter (where t.state = 13)::numeric as e, count(*) filter (where not helio.state_is_over(t.state))::numeric as f
    from helio.maybe_open o join helio.tasks_now t using (job_id) group by 1, 2$$, 'what is queued, live, held and open is what the tasks say');

-- After a restore, jobs of the restored database wait for the sites that have not reported.
insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, awaited_by)
values ('wa-site', 1, false, 0, 0, 1, 0, 0, false, true, 1);
update helio.federation set restored_job = pg_temp.id(7050);
select set_eq('select tenant, queue, reason, tasks, gpus from helio.waiting_now', 'select * from pg_temp.as_tasks', 'also after a restore');

create temporary table before as select pg_temp.rows_read() as rows;
select count(*) from helio.waiting_now;
select cmp_ok(pg_temp.rows_read() - b.rows, '<', 10000::bigint, 'neither what is settled is read, nor an array once for each of its tasks')
from before b;
drop table before;
create temporary table before as select pg_temp.rows_read() as rows;
select count(*), sum(open) from helio.open_now where tenant = 'wa-0';
select cmp_ok(pg_temp.rows_read() - b.rows, '<', 10000::bigint, 'nor is it for the counts of queues and tenants')
from before b;

select * from finish();
rollback;
