-- The limit of an array's tasks that run at once: what may be stored, and what readers are told of the tasks that it keeps out.
begin;
select no_plan();

select col_type_is('helio', 'jobs', 'tasks_at_once', 'integer', 'the limit is a number of tasks');
select col_is_null('helio', 'jobs', 'tasks_at_once', 'a job without a limit has none');
select ok(col_description('helio.jobs'::regclass, a.attnum) is not null, 'the column says what it holds')
from pg_attribute a where a.attrelid = 'helio.jobs'::regclass and a.attname = 'tasks_at_once';

insert into helio.tenants (tenant) values ('acme') on conflict do nothing;
create temporary view stored as
select j.* from helio.jobs j where j.job_id >= '0199eeee-0000-7000-8000-000000000000' and j.job_id < '0199efff-0000-7000-8000-000000000000';
create function pg_temp.store(number integer, of_tasks integer[], at_once integer) returns uuid language sql as $$
    insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name,
        spec_hash, source, tasks, tasks_at_once)
    values (('0199eeee-0000-7000-8000-' || lpad(number::text, 12, '0'))::uuid, now(), 3600000, 900000 + number, 1, 1, 1, 0, 'acme',
        'ada', 'standard', 'sweep', 'h', 's', of_tasks, at_once)
    returning job_id
$$;
create function pg_temp.gated(job uuid) returns text language sql as $$
    select string_agg(t.task::text, ' ' order by t.task) from helio.tasks_now t where t.job_id = job and t.reason = 'Gated'
$$;

select throws_ok($$select pg_temp.store(1, '{0, 1}', 0)$$, '23514', null, 'a limit of none would keep all tasks out for ever');
select throws_ok($$select pg_temp.store(1, '{0, 1}', -1)$$, '23514', null, 'nor is one below that stored');

select is(pg_temp.gated(pg_temp.store(1, '{0, 1, 2, 3}', 2)), '2 3', 'the first tasks of the document are let in');
select is(pg_temp.gated(pg_temp.store(2, '{4, 5, 8, 9}', 2)), '8 9', 'by their places, whatever their numbers');
select is(pg_temp.gated(pg_temp.store(3, '{0, 1}', 2)), null, 'a limit that is not reached keeps none out');
select is(pg_temp.gated(pg_temp.store(4, '{0, 1}', 10000)), null, 'nor does one beyond the tasks');
select is(pg_temp.gated(pg_temp.store(5, '{0, 1, 2}', null)), null, 'nor none');
select is(pg_temp.gated(pg_temp.store(6, null, null)), null, 'nor is a single job an array');
select is(pg_temp.gated(pg_temp.store(7, null, 1)), null, 'even if it had a limit');
select is(pg_temp.gated(pg_temp.store(8, '{7}', 1)), null, 'the only task of an array is let in');

-- Many tasks: each is looked at once, not once for each other one.
select is(pg_temp.gated(j), (select string_agg(i::text, ' ' order by i) from generate_series(10, 9999) i), 'a large array')
from pg_temp.store(9, (select array_agg(i) from generate_series(0, 9999) i), 10) j;

-- All views say the same of a task, and its sentence never stands without its code.
select results_eq(
    $$select t.task, t.reason, t.detail, t.details->0->>'code', (t.details->0->'params'->>'tasks')::integer
      from helio.tasks_now t join stored s using (job_id) where s.tasks_at_once = 2 and cardinality(s.tasks) = 4 and t.reason = 'Gated'
      order by t.job_id, t.task$$,
    $$values (2, 'Gated', 'at most 2 tasks of this array run at once', 'ArrayThrottle', 2),
        (3, 'Gated', 'at most 2 tasks of this array run at once', 'ArrayThrottle', 2),
        (8, 'Gated', 'at most 2 tasks of this array run at once', 'ArrayThrottle', 2),
        (9, 'Gated', 'at most 2 tasks of this array run at once', 'ArrayThrottle', 2)$$, 'the reason as a sentence and as data');
select is(helio.throttle_sentence(1), 'at most 1 task of this array runs at once', 'one task runs');
select bag_eq(
    $$select r.job_id, r.reason, r.details from helio_report.jobs r where r.name = 'sweep'$$,
    $$select helio.job_text(t.job_id, t.task), t.reason, t.details from helio.tasks_now t where t.name = 'sweep'$$,
    'the report shows what the broker reads');

-- The limit of one array says nothing of another, and a task that was let in keeps what its class waits for.
insert into helio.classes (class_id, decision_id, reason, detail) values (900001, 1, 'WaitingForCapacity', 'no GPU is free');
select results_eq(
    $$select t.task, t.reason, t.detail, t.waiting_decision_id from helio.tasks_now t
      where t.job_id = '0199eeee-0000-7000-8000-000000000001' order by t.task$$,
    $$values (0, 'WaitingForCapacity', 'no GPU is free', 1::bigint), (1, 'WaitingForCapacity', 'no GPU is free', 1),
        (2, 'Gated', 'at most 2 tasks of this array run at once', null),
        (3, 'Gated', 'at most 2 tasks of this array run at once', null)$$, 'tasks in the queue and tasks before it');

-- Of equal jobs that wait, only the one that holds the reservation is told when it starts.
update helio.classes set detail = 'd', expected_at = '2026-03-01T03:00:00Z', details = jsonb_build_array(jsonb_build_object('code', 'ReservedForIt',
    'params', jsonb_build_object('site', 'north', 'pool', 'a', 'from', '2026-03-01T03:00:00.000Z', 'job_id',
        helio.job_text('0199eeee-0000-7000-8000-000000000001', 0))), '{"code": "OverflowOpens", "params": {}}'::jsonb) where class_id = 900001;
create temporary view told as
select t.task, t.detail, t.details->0->>'code' as code, t.details->1->>'code' as further, t.expected_at from helio.tasks_now t
where t.job_id = '0199eeee-0000-7000-8000-000000000001' and t.task < 2;
select results_eq($$select * from told order by task$$,
    format($$values (0, 'd', 'ReservedForIt', 'OverflowOpens', timestamptz '2026-03-01T03:00:00Z'),
        (1, 'north/a is reserved from 2026-03-01T03:00Z for job %s, an equal one ahead of it', 'ReservedAhead', 'OverflowOpens', null)$$,
        helio.job_text('0199eeee-0000-7000-8000-000000000001', 0)), 'the reservation is that of the first');
update helio.classes set details = details #- '{0,params,job_id}' where class_id = 900001;
select is(count(*), 2::bigint, 'a row of an older release says it of all') from told where code = 'ReservedForIt' and expected_at is not null;

select * from finish();
rollback;
