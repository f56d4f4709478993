-- What was edited of jobs, as a dashboard reads it.
begin;
select no_plan();

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
values ('0199ffff-0000-7000-8000-000000000001', now(), 1, 1, 8, 1, 1, 1, 'ed', 'standard', 'h', 's');
insert into helio.edited (seq, place, job_id, at, actor, field, before, after)
values (-2, 0, '0199ffff-0000-7000-8000-000000000001', '2026-03-01 10:00Z', 'user:ada', 'priority', '0', '5'),
    (-1, 0, '0199ffff-0000-7000-8000-000000000001', '2026-03-01 11:00Z', 'user:ada', 'deadline', 'none', '2026-03-02T00:00Z'),
    (-1, 1, '0199ffff-0000-7000-8000-000000000001', '2026-03-01 11:00Z', 'user:ada', 'goal', 'green', 'fast');
select results_eq($$select time, job_id, actor, field, from_value, to_value from helio_report.edits where tenant = 'ed'
        order by time, field$$,
    $$values ('2026-03-01 10:00Z'::timestamptz, '01k7zzy000e008000000000001'::text, 'user:ada', 'priority', '0', '5'),
        ('2026-03-01 11:00Z', '01k7zzy000e008000000000001', 'user:ada', 'deadline', 'none', '2026-03-02T00:00Z'),
        ('2026-03-01 11:00Z', '01k7zzy000e008000000000001', 'user:ada', 'goal', 'green', 'fast')$$,
    'a row for each thing that changed');

select results_eq($$select time_limit_ms from helio.tasks_now where tenant = 'ed'$$, $$values (1::bigint)$$, 'the limit of the document');
insert into helio.edits (job_id, at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier, prices_set, queue)
values ('0199ffff-0000-7000-8000-000000000001', now(), 0, 0, 0, 1, 0, 1, 1, false, 'standard');
select results_eq($$select time_limit_ms from helio.tasks_now where tenant = 'ed'$$, $$values (1::bigint)$$, 'an edit of something else');
update helio.edits set time_limit_ms = 7200000;
select results_eq($$select time_limit_ms from helio.tasks_now where tenant = 'ed'$$, $$values (7200000::bigint)$$, 'an edited limit');
select throws_ok('update helio.edits set time_limit_ms = 0', '23514', null, 'no time limit of 0');

select * from finish();
rollback;
