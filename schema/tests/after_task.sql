-- Arrays whose tasks wait for the tasks of another array: what readers are told of each of them.
begin;
select no_plan();

insert into helio.tenants (tenant) values ('acme') on conflict do nothing;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name,
    spec_hash, source, tasks)
select ('0199eeee-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 3600000, 900000 + n, 1, 1, 1, 0, 'acme',
    'ada', 'standard', 'step' || n, 'h', 's', case when n < 4 then '{0, 1, 2}'::integer[] end
from generate_series(1, 4) n;
create function pg_temp.job(n integer) returns uuid language sql as $$
    select ('0199eeee-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid
$$;
create function pg_temp.ends(job uuid, of_task integer, as_state integer) returns void language sql as $$
    insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, at, gpu_ms, cost_micro_usd,
        energy_j, carbon_mg, units_done)
    values (job, of_task, as_state, 0, 0, 0, 0, 0, 0, now(), 0, 0, 0, 0, 0)
$$;
-- Array 3 waits for 1 and 2, task by task; job 4 for the whole of 1.
insert into helio.dependencies (job_id, place, after, on_job, on_task)
select pg_temp.job(3), 3 * (n - 1) + t, 4, pg_temp.job(n), t from generate_series(1, 2) n, generate_series(0, 2) t;
insert into helio.dependencies (job_id, place, after, on_job, on_task) values (pg_temp.job(4), 0, 0, pg_temp.job(1), -1);
select throws_ok($$insert into helio.dependencies (job_id, place, after, on_job, on_task) values (pg_temp.job(4), 1, 5, pg_temp.job(1), 0)$$,
    '23514', null, 'there are no other kinds');
insert into helio.classes (class_id, decision_id, reason, detail) values (900003, 1, 'WaitingForCapacity', 'no GPU is free');

select pg_temp.ends(pg_temp.job(1), 0, 8), pg_temp.ends(pg_temp.job(2), 0, 8), pg_temp.ends(pg_temp.job(1), 1, 8), pg_temp.ends(pg_temp.job(2), 1, 4);
create temporary view told as
select t.task, t.reason, t.detail, jsonb_array_length(t.details) as details, t.details->0->>'code' as code,
    t.details->0->'params'->>'job_id' as awaited, t.waiting_decision_id as decision
from helio.tasks_now t where t.job_id = pg_temp.job(3);
select results_eq($$select * from told order by task$$,
    $$values (0, 'WaitingForCapacity', 'no GPU is free', null::integer, null::text, null::text, 1::bigint),
        (1, 'Gated', format('waits for job %s to succeed', helio.job_text(pg_temp.job(2), 1)), 1, 'Dependency',
            helio.job_text(pg_temp.job(2), 1), null),
        (2, 'Gated', format('waits for job %s to succeed; waits for job %s to succeed', helio.job_text(pg_temp.job(1), 2),
            helio.job_text(pg_temp.job(2), 2)), 2, 'Dependency', helio.job_text(pg_temp.job(1), 2), null)$$,
    'each task tells what it waits for, until that is over');
select is(reason, 'WaitingForCapacity', 'a whole that waits says so by its gate alone') from told where task = 0;

-- What waits no more: a task that was cancelled, and one that is held.
select pg_temp.ends(pg_temp.job(3), 1, 11), pg_temp.ends(pg_temp.job(3), 2, 13);
select is(count(*), 0::bigint, 'only queued tasks wait') from told where task > 0 and reason = 'Gated';

select * from finish();
rollback;
