-- After a restore, which waiting jobs wait for which sites: the first reason, in every view.
begin;
select plan(14);

select col_type_is('helio', 'jobs', 'on_site_loss', 'smallint', 'what the document says of lost sites');
select col_is_null('helio', 'jobs', 'on_site_loss', 'of older jobs it is not known');
select ok(col_description(c.relation::regclass, a.attnum) is not null, c.relation || ' says what the column holds')
from (values ('helio.jobs', 'on_site_loss'), ('helio.sites', 'awaited_by')) c (relation, name)
join pg_attribute a on a.attrelid = c.relation::regclass and a.attname = c.name;
select throws_ok($$update helio.federation set restored_job = null; insert into helio.sites (site, state, draining, latitude, longitude,
    pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, awaited_by) values ('x', 1, false, 0, 0, 1, 0, 0, false, true, 3)$$,
    '23514', null, 'nobody waits with eager jobs');

insert into helio.tenants (tenant) values ('acme') on conflict do nothing;
insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases)
select s, 1, false, 0, 0, 1, 0, 0, false, true from unnest('{lulea,oregon,sydney}'::text[]) s;
insert into helio.classes (class_id, decision_id, reason, detail, at, expected_at)
values (900001, 1, 'WaitingForCapacity', 'no GPU is free', now(), now() + interval '1 hour');
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name, spec_hash,
    source, tasks, on_site_loss)
select ('0199eeee-0000-7000-8000-' || lpad(number::text, 12, '0'))::uuid, now(), 3600000, 900001, 1, 1, 1, 0, 'acme', 'ada', 'standard',
    'job' || number, 'h', 's', tasks::integer[], loss
from (values (1, null, 0), (2, null, 1), (3, null, 2), (4, '{0,1}', 0), (5, null, null), (6, null, 0)) v (number, tasks, loss);
create temporary view shown as
select t.name || coalesce('.' || nullif(t.task, -1), '') as job, t.reason, t.detail, t.details->0->>'code' as code,
    t.details->0->'params' as params, t.waiting_decision_id, t.expected_at
from helio.tasks_now t where t.job_id >= '0199eeee-0000-7000-8000-000000000000' and t.job_id < '0199efff-0000-7000-8000-000000000000';
create function pg_temp.gated() returns text language sql as $$
    select coalesce(string_agg(job, ' ' order by job), 'none') from shown where reason = 'Gated'
$$;

update helio.federation set restored_job = '0199eeee-0000-7000-8000-000000000005';
select is(pg_temp.gated(), 'none', 'no job waits for sites that have reported');
update helio.sites set awaited_by = 2 where site = 'lulea';
update helio.sites set awaited_by = 1 where site = 'oregon';
select is(pg_temp.gated(), 'job1 job2 job4.0 job4.1 job5', 'restored jobs wait, unless they are eager; one that came later does not');
select results_eq($$select distinct s.job, s.params->>'sites', s.waiting_decision_id, s.expected_at from shown s
        where s.job in ('job1', 'job2') order by 1$$,
    $$values ('job1', '["lulea", "oregon"]', null::bigint, null::timestamptz), ('job2', '["lulea"]', null, null)$$,
    'a lease job waits for no site whose leases are over; no decision of the class is shown');
select is(helio.awaited_sentence(array['lulea']), 'the database was restored, and it may run at lulea, which has not reported since; it '
    'starts when that site has reported or an operator has attested it', 'the sentence of one site');
update helio.sites set awaited_by = 0 where site = 'lulea';
select is(pg_temp.gated(), 'job1 job4.0 job4.1 job5', 'leases are over everywhere: lease jobs wait no more');
insert into helio.gates (job_id, detail) values ('0199eeee-0000-7000-8000-000000000001', 'waits for something'),
    ('0199eeee-0000-7000-8000-000000000002', 'waits for something');
select results_eq($$select job, code is null from shown where job in ('job1', 'job2') order by 1$$,
    $$values ('job1', false), ('job2', true)$$, 'the sites come before what the job itself waits for');
select is(helio.array_json('0199eeee-0000-7000-8000-000000000004')::json->>'detail',
    helio.awaited_sentence(array['oregon']), 'the array as a whole says the same');
update helio.sites set awaited_by = 0;
select is(pg_temp.gated(), 'job1 job2', 'all have reported: only the dependencies hold');

-- A copy that a site has listed: the row of its own job says so.
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, reason, details, at, gpu_ms,
    cost_micro_usd, energy_j, carbon_mg, units_done)
values ('0199eeee-0000-7000-8000-000000000003', -1, 0, 0, 0, 0, 0, 0, 0, 'a copy of it has not ended at oregon',
    '[{"code": "CopiesEnd", "params": {"sites": ["oregon"], "sites_total": 1}}]', now(), 0, 0, 0, 0, 0);
select results_eq($$select reason, detail, code, waiting_decision_id from shown where job = 'job3'$$,
    $$values ('Gated', 'a copy of it has not ended at oregon', 'CopiesEnd', null::bigint)$$, 'and not what its class waits for');

select * from finish();
rollback;
