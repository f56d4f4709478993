-- Details beside sentences: where they are, what a leader of the release before leaves of them, and what its rows say.
begin;
select no_plan();

select col_type_is('helio', name::name, 'details', 'jsonb', 'reasons of ' || name || ' are data too')
from unnest(array ['job_state', 'transitions', 'gates', 'decisions', 'candidates', 'classes']) name;
select has_column('helio_report', name::name, 'details', 'readers see the details of ' || name)
from unnest(array ['jobs', 'job_transitions', 'placement_candidates', 'migrations']) name;

create temporary view expected as
select '[{"code": "QuotaInUse", "params": {"tenant": "acme"}}]'::jsonb as details;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, at, evictions, saved_ms, moves, reason, details)
select '0199ffff-0000-7000-8000-000000000001', task, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), 0, 0, 0, 'quota in use', e.details
from expected e, generate_series(0, 3) task;
insert into helio.gates (job_id, detail, details)
select '0199ffff-0000-7000-8000-000000000001', 'quota in use', e.details from expected e;
insert into helio.classes (class_id, decision_id, reason, detail, details)
select number, 1, 'PolicyCap', 'quota in use', e.details from expected e, generate_series(-3, -1) number;

-- task 0: a leader of the release before says something else; 1: the same; 2: this release writes other words for the same
-- details; 3: this release says something else
update helio.job_state set reason = 'preempted' where task = 0;
update helio.job_state set reason = 'quota in use', epoch = 1 where task = 1;
update helio.job_state set reason = 'the quota is in use', details = details, details_turn = not details_turn where task = 2;
update helio.job_state set reason = null, details = null, details_turn = not details_turn where task = 3;
select results_eq($$select task, reason, details from helio.job_state order by task$$,
    $$select * from (values (0, 'preempted', null), (1, 'quota in use', (select details from expected)),
        (2, 'the quota is in use', (select details from expected)), (3, null, null)) as t (task, reason, details)$$,
    'a sentence that changes without details takes stale ones along');

update helio.gates set detail = 'waits for one' where job_id = '0199ffff-0000-7000-8000-000000000001';
select is(details, null, 'so of what a job waits for')
from helio.gates where job_id = '0199ffff-0000-7000-8000-000000000001';

update helio.classes set detail = 'north: Draining' where class_id = -3;
update helio.classes set reason = 'Queued' where class_id = -2;
update helio.classes set decision_id = 7 where class_id = -1;
select results_eq($$select class_id, details from helio.classes where class_id < 0 order by class_id$$,
    $$select * from (values (-3::int8, null), (-2, null), (-1, (select details from expected))) as c (class_id, details)$$,
    'so of the reason of a class, by its word as by its sentence');

select is(helio.stated(null), null, 'no sentence is no detail');
select is(helio.stated(''), null, 'nor is an empty one');
select is(helio.stated('preempted'), '[{"code": "StateReported", "params": {"why": "preempted"}}]',
    'a sentence of the release before is reported as it stands');
select is(helio.stated('moved from north to south: saves $3.10 of what is left'),
    '[{"code": "Migrated", "params": {"from": "north", "to": "south"}},
      {"code": "StateReported", "params": {"why": "saves $3.10 of what is left"}}]',
    'but of a migration that it is one');

select * from finish();
rollback;
