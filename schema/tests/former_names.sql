-- Names of an earlier release that are kept for one more show the same as the present ones (docs/upgrade.md), and internal ones go.
begin;
select no_plan();

-- ---- one job that reached its migration target, and one that did not --------------------------------------

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, spec_hash, source)
select ('0199dada-0000-7000-8000-00000000000' || j)::uuid, now(), 1, 1, 1, 1, 1, 1, 'na', 'nia', 'standard', 'h', 's'
from generate_series(1, 2) j;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd, energy_j,
    carbon_mg, units_done, at, site, pool)
select job_id, -1, 4, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, now(), 'nt', 'p' from helio.jobs where tenant = 'na';
insert into helio.decisions (decision_id, at, class_id, chosen_site, detail)
values (880001, now(), 1, 'ns', ''), (880002, now(), 1, 'nt', 'moved from ns to nt: saves');
insert into helio.candidates (decision_id, rank, site, pool, score_micro_usd, cost_micro_usd, energy_j, carbon_mg, move_micro_usd)
values (880001, 0, 'ns', 'p', 1, 1, 1, 1, 0), (880002, 0, 'nt', 'p', 3000000, 1, 1, 1, 1250000), (880002, 1, 'ns', 'p', 9000000, 1, 1, 1, 0);
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
    planned_carbon_mg, start_at, at, site, pool)
select j.job_id, -1, e, 1, 1, case when e = 2 and j.job_id::text like '%1' then 880002 else 880001 end, 1, 1, 1, 1, now(), now(),
    (array ['ns', 'nt'])[e], 'p'
from helio.jobs j, generate_series(1, 2) e where j.tenant = 'na';
insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at, reason)
select 880000 + row_number() over (), job_id, -1, 1, 4, 6, now(), 'moved from ns to nt: saves' from helio.jobs where tenant = 'na';
create temporary table ids as select helio.job_text(job_id, -1) as job_id from helio.jobs where tenant = 'na';

-- ---- views and columns ------------------------------------------------------------------------------------

select results_eq($$select reached_target, saves_usd, disruption_term_usd from helio_report.migrations join ids using (job_id) order by 1$$,
    $$values (false, null::float8, null::float8), (true, 6, 1.25)$$, 'migrations tells whether a job reached its target, and for what');
select bag_eq('select * from helio_report.moves', 'select * from helio_report.migrations', 'moves has the rows and columns of migrations');
select bag_eq('select move_term_usd from helio_report.placement_candidates join ids using (job_id)',
    $$values (0::float8), (0), (1.25), (0), (0)$$, 'move_term_usd of placement_candidates is the disruption term');
select is_empty('select from helio_report.placement_candidates where move_term_usd is distinct from disruption_term_usd',
    'move_term_usd and disruption_term_usd of placement_candidates are equal');
select matches(says, '^Deprecated, removed in the next release: ', what || ' is documented as deprecated')
from (values ('view moves', obj_description('helio_report.moves'::regclass))) v (what, says)
union all
select matches(col_description(a.attrelid, a.attnum), '^Deprecated, removed in the next release: ',
    a.attrelid::regclass || '.' || a.attname || ' is documented as deprecated')
from pg_attribute a
where (a.attrelid, a.attname) in (('helio_report.moves'::regclass, 'moved'), ('helio_report.moves'::regclass, 'move_term_usd'),
    ('helio_report.placement_candidates'::regclass, 'move_term_usd'));

-- ---- answers ----------------------------------------------------------------------------------------------

select results_eq($$select (c->'terms'->>'disruption')::float8, (c->'terms'->>'move')::float8
        from helio.explain_json('0199dada-0000-7000-8000-000000000001', -1) e, json_array_elements(e::json->'candidates') c$$,
    $$values (1.25::float8, 1.25::float8), (0, 0)$$, 'a candidate''s terms have disruption, and move with the same value');

-- ---- internal names ---------------------------------------------------------------------------------------

create view helio.sight as select 1 as one;
create view helio.jobs_in_sight as select 1 as one;
create view public.of_an_operator as select one from helio.jobs_in_sight;
create function helio.reader_wall(reader text) returns text language sql return reader;
create function helio.missing_walls() returns setof text language sql begin atomic select helio.reader_wall('x'); end;
\ir ../report/95_former_names.sql
select is(to_regclass('helio.sight'), null, 'a former view is dropped');
select isnt(to_regclass('helio.jobs_in_sight'), null, 'one that a view of an operator uses stays');
select is(to_regprocedure('helio.missing_walls()'), null, 'a former function is dropped');
select is(to_regprocedure('helio.reader_wall(text)'), null, 'the one that it called is, too');

select * from finish();
rollback;
