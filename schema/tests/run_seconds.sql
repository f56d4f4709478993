-- How long a job ran: its attempts added up, and the one that runs. now() stands still in a transaction, so the figures are exact.
begin;
select no_plan();

create temporary table run as
select ('0199eeee-0000-7000-8000-00000000000' || i)::uuid as job_id, i, state, before, epoch, started, expected, why
from (values
    (1, 4, 3, 1, 7.5, 7.5, 'the first attempt runs'),
    (2, 0, 6, 1, 82.1, 20.0, 'evicted and queued again: it does not tick'),
    (3, 3, 2, 2, 82.1, 20.0, 'the second attempt is starting: the begin of the first does not tick'),
    (4, 4, 3, 2, 7.5, 27.5, 'the second attempt runs'),
    (5, 6, 4, 2, 7.5, 27.5, 'told to stop: runs on'),
    (6, 6, 3, 2, 82.1, 20.0, 'told to stop before it ran'),
    (7, 7, 4, 2, 7.5, 27.5, 'not heard of since it ran'),
    (8, 7, 3, 2, 82.1, 20.0, 'not heard of since it was starting'),
    (9, 8, 4, 2, 60.0, 50.0, 'over: what both attempts ran, not what a fenced one did')
) v (i, state, before, epoch, started, expected, why);
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select job_id, now() - interval '1 hour', 1, 1, 8, 1, 1, 1, 'run', 'standard', 'h', 's' from run;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source,
    tasks)
values ('0199eeee-0000-7000-8000-0000000000aa', now(), 1, 1, 8, 1, 1, 1, 'run', 'standard', 'h', 's', array[0, 1]);
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, started_at, finished_at,
    gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done, at)
select job_id, -1, state, before, 0, epoch, epoch, 0, 0, now() - started * interval '1 second',
    case when state = 8 then now() end, 160000, 0, 0, 0, 0, now() from run;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, started_at, gpu_ms,
    cost_micro_usd, energy_j, carbon_mg, units_done, at)
values ('0199eeee-0000-7000-8000-0000000000aa', 0, 4, 3, 0, 1, 1, 0, 0, now() - interval '5 seconds', 0, 0, 0, 0, 0, now()),
    ('0199eeee-0000-7000-8000-0000000000aa', 1, 4, 3, 0, 1, 1, 0, 0, now() - interval '2 seconds', 0, 0, 0, 0, 0, now());
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j,
    units_done, site)
select job_id, -1, 1, 5, false, false, now() - interval '82.1 seconds', now() - interval '62.1 seconds', now(), 20000, 160000, 0, 0,
    'lulea' from run where i > 1
union all
select job_id, -1, 2, 5, true, false, now() - interval '60 seconds', now() - interval '30 seconds', now(), 30000, 240000, 0, 0, 'lulea'
from run where i = 9
union all
select job_id, -1, 7, 5, false, true, now() - interval '70 seconds', now() - interval '60 seconds', now(), 10000, 80000, 0, 0, 'oslo'
from run where i = 9;

select is(j.run_seconds, r.expected::float8, r.why)
from run r join helio_report.jobs j on j.job_id = helio.job_text(r.job_id, -1) order by r.i;
select is((helio.task_json(r.job_id, -1)::json ->> 'run_seconds')::float8, r.expected::float8, 'the broker answers: ' || r.why)
from run r order by r.i;
select is(j.run_seconds, j.gpu_seconds / j.gpus, 'queued again: it agrees with its GPU time')
from run r join helio_report.jobs j on j.job_id = helio.job_text(r.job_id, -1) where r.i = 2;
select is((helio.array_json('0199eeee-0000-7000-8000-0000000000aa')::json ->> 'run_seconds')::float8, 7::float8,
    'an array ran what its tasks ran, as its GPU time is theirs');
update helio.job_state set started_at = null where job_id = '0199eeee-0000-7000-8000-000000000001';
select is(run_seconds, null, 'what never ran has no run time') from helio_report.jobs
where job_id = helio.job_text('0199eeee-0000-7000-8000-000000000001', -1);

select * from finish();
rollback;
