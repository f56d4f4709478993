-- Jobs whose row says that they wait for a job that has started or ended: their rows follow in their turn, and readers are told so.
begin;
select no_plan();

insert into helio.tenants (tenant) values ('acme') on conflict do nothing;
create function pg_temp.job(n integer) returns uuid language sql as $$
    select ('0199f0f0-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid
$$;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name,
    spec_hash, source, tasks)
select pg_temp.job(n), now(), 3600000, 910000 + n, 1, 1, 1, 0, 'acme', 'ada', 'standard', 'turn' || n, 'h', 's',
    case when n = 3 then '{0, 1}'::integer[] end
from generate_series(1, 9) n;
create function pg_temp.state(n integer, of_task integer, as_state integer, started timestamptz) returns void language sql as $$
    insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, at, gpu_ms, cost_micro_usd,
        energy_j, carbon_mg, units_done, started_at)
    values (pg_temp.job(n), of_task, as_state, 0, 0, 0, 0, 0, 0, now(), 0, 0, 0, 0, 0, started)
    on conflict (job_id, task) do update set state = excluded.state
$$;
-- Job n, after a job or task, as the core writes it; told: whether its row names it.
create function pg_temp.waits(n integer, of_after integer, on_n integer, of_task integer, told boolean) returns void language sql as $$
    insert into helio.dependencies (job_id, place, after, on_job, on_task)
    values (pg_temp.job(n), coalesce((select max(place) + 1 from helio.dependencies where job_id = pg_temp.job(n)), 0), of_after, pg_temp.job(on_n), of_task);
    insert into helio.gates (job_id, detail, details)
    select pg_temp.job(n), 'waits', jsonb_build_array(jsonb_build_object('code', 'Dependency', 'params',
        jsonb_build_object('job_id', helio.job_text(pg_temp.job(on_n), of_task), 'event', 'end'))) where told
$$;
create temporary view told as
select right(t.job_id::text, 1)::integer as job, t.reason, t.details->0->>'code' as code, t.detail
from helio.tasks_now t where t.job_id between pg_temp.job(4) and pg_temp.job(9);

select pg_temp.state(1, -1, 4, now()), pg_temp.state(3, 0, 8, now());
select pg_temp.waits(4, 1, 1, -1, true), pg_temp.waits(5, 3, 1, -1, true), pg_temp.waits(6, 1, 3, -1, true), pg_temp.waits(7, 1, 3, 0, true),
    pg_temp.waits(8, 1, 2, -1, true), pg_temp.waits(8, 1, 1, -1, false);
insert into helio.gates (job_id, details) values (pg_temp.job(9), '[{"code": "BeginTime", "params": {"at": "2026-03-01T00:31:00Z"}}]');
select results_eq('select job, reason, code from told order by job',
    $$values (4, 'Gated', 'Dependency'), (5, 'Gated', 'GoesOnInTurn'), (6, 'Gated', 'Dependency'), (7, 'Gated', 'GoesOnInTurn'),
        (8, 'Gated', 'Dependency'), (9, 'Gated', 'BeginTime')$$, 'a job that runs has started and not ended, and an array ends with its last task');

select pg_temp.state(1, -1, 8, null), pg_temp.state(3, 1, 9, now());
select results_eq('select job, code from told order by job',
    $$values (4, 'GoesOnInTurn'), (5, 'GoesOnInTurn'), (6, 'GoesOnInTurn'), (7, 'GoesOnInTurn'), (8, 'Dependency'), (9, 'BeginTime')$$,
    'what ended is not waited for, and what the row names still is');
select is(detail, helio.in_turn_sentence(), 'in words, too') from told where job = 4;

-- Readers of the tenant are told so as well, who have no privileges on what is asked for it.
insert into helio.readers (reader, tenant) values ('pgtap_in_turn', 'acme');
create role pgtap_in_turn;
grant usage on schema helio_report to pgtap_in_turn;
grant select on all tables in schema helio_report to pgtap_in_turn;
set local role pgtap_in_turn;
select results_eq($$select right(name, 1)::integer as job, details->0->>'code' as code from helio_report.jobs where name like 'turn%' and reason = 'Gated' order by 1$$,
    $$values (4, 'GoesOnInTurn'), (5, 'GoesOnInTurn'), (6, 'GoesOnInTurn'), (7, 'GoesOnInTurn'), (8, 'Dependency'), (9, 'BeginTime')$$, 'for readers, too');
reset role;

update helio.gates set opened_at = now() where job_id = pg_temp.job(4);
select is(reason, 'Queued', 'a hold that has ended keeps nothing back') from told where job = 4;

select * from finish();
rollback;
