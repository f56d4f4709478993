-- What explains a job says where it was placed while it is there or over, and of no choice while it is held or waits.
begin;
select no_plan();

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, spec_hash, source)
values ('0199eabc-0000-7000-8000-000000000001', now(), 1, 1, 1, 1, 1, 1, 'na', 'nia', 'standard', 'h', 's');
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, at, site, pool)
select job_id, -1, 4, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, now(), 'ns', 'p' from helio.jobs where tenant = 'na';
insert into helio.decisions (decision_id, at, class_id, chosen_site, chosen_pool, detail) values (880011, now(), 1, 'nt', 'p', '');
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
    planned_carbon_mg, start_at, at, site, pool)
select job_id, -1, 1, 1, 1, 880011, 1, 1, 1, 1, now(), now(), 'ns', 'p' from helio.jobs where tenant = 'na';

create function pg_temp.choice() returns text language sql as $$
    select concat_ws(' ', e::json->>'chosen', e::json->>'chosen_pool', e::json->>'first_choice', e::json->>'first_choice_pool')
    from helio.explain_json('0199eabc-0000-7000-8000-000000000001', -1) e $$;
select is(pg_temp.choice(), 'ns p nt p', 'a job that runs has a choice');
update helio.job_state set state = 13, site = null, pool = null where job_id = '0199eabc-0000-7000-8000-000000000001';
select is(pg_temp.choice(), '', 'a held job has none any more');
update helio.job_state set state = 9, site = 'ns', pool = 'p' where job_id = '0199eabc-0000-7000-8000-000000000001';
select is(pg_temp.choice(), 'ns p nt p', 'a job that is over has the one of its last placement');

-- ---- candidates that are rejected ---------------------------------------------------------------------------

insert into helio.candidates (decision_id, rank, site, pool, score_micro_usd, cost_micro_usd, energy_j, carbon_mg, rejected_reason, detail)
values (880011, 0, 'nt', 'p', 1, 1, 1, 1, null, null), (880011, 1, 'na', 'p', 1, 1, 1, 1, 'Draining', null),
    (880011, 2, 'nb', 'p', 1, 1, 1, 1, 'NoCapacity', 'only 3 GPUs are free'), (880011, 3, 'nc', 'p', 1, 1, 1, 1, 'OfANewerRelease', null),
    (880011, 4, 'nd', 'p', 1, 1, 1, 1, '', null);
create temporary table said as
select * from (values (0, null), (1, 'an operator drains the site: it gets no new jobs'), (2, 'only 3 GPUs are free'), (3, 'OfANewerRelease'), (4, null)) v (rank, detail);
select results_eq($$select (o.place - 1)::integer, o.c->>'detail' from helio.explain_json('0199eabc-0000-7000-8000-000000000001', -1) e
    cross join lateral json_array_elements(e::json->'candidates') with ordinality as o (c, place) order by 1$$, 'select * from said',
    'a rejected candidate is explained by its detail, or by what its reason means');
select results_eq($$select rank, detail from helio_report.placement_candidates
    where job_id = helio.job_text('0199eabc-0000-7000-8000-000000000001', -1) order by 1$$, 'select * from said', 'in the view, too');
select ok(count(*) > 20 and bool_and(r.detail <> r.rejected_reason), 'boards can say what reasons mean') from helio_report.rejections r;

select * from finish();
rollback;
