-- Logins of dashboards: what each sees of every view that there is. A view that is added is in these tests by being there; it has
-- to say whose its rows are, and rows of tenants have to be among those filled in here.
begin;
select no_plan();

-- ---- three tenants, with rows in every view of tenants ----------------------------------------------------

insert into helio.tenants (tenant) values ('ra'), ('rb'), ('rc');
create temporary table fill as
select t.tenant, ('0199f' || n || 'aa-0000-7000-8000-00000000000' || j)::uuid as job_id, n * 10 + j as number, j
from unnest(array ['ra', 'rb', 'rc']) with ordinality t (tenant, n), generate_series(1, 2) j;
create temporary table day as select date_trunc('day', now(), 'UTC') as d;

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, spec_hash, source,
    tasks, expected_basis)
select job_id, d, 1, 1, 1, 1, 1, 1, tenant, tenant || '-user', 'standard', 'h', 's', case when j = 2 then array [0, 1] end, 1 from fill, day;
insert into helio.labels select job_id, 'team', tenant from fill where j = 1;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, at, started_at, finished_at, site, pool)
select job_id, case j when 2 then 0 else -1 end, 8, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, d, d, d, 'rs', 'p' from fill, day;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, exit_code, started_at, ended_at, at, run_ms, gpu_ms, energy_j,
    units_done, site)
select job_id, -1, 1, 5, true, false, 0, d, d, d, 1, 1, 1, 0, 'rs' from fill, day where j = 1;
insert into helio.decisions (decision_id, at, class_id, chosen_site, detail)
select 990000 + number, d, 1, 'rs', 'moved from rs to rt: saves' from fill, day;
insert into helio.candidates (decision_id, rank, site, pool, score_micro_usd, cost_micro_usd, energy_j, carbon_mg)
select 990000 + number, r, (array ['rs', 'rt'])[r + 1], 'p', 1, 1, 1, 1 from fill, generate_series(0, 1) r;
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
    planned_carbon_mg, start_at, at, site, pool, expected_ms, expected_high_ms)
select job_id, -1, e, 1, 1, 990000 + number, 1, 1, 1, 1, d, d, (array ['rs', 'rt'])[e], 'p', 1, 1
from fill, day, generate_series(1, 2) e where j = 1;
insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at, reason)
select 990000 + number * 10, job_id, -1, 1, 4, 6, d, 'moved from rs to rt: saves' from fill, day where j = 1;
insert into helio.edited (seq, place, job_id, at, actor, field, before, after)
select 990000 + number, 0, job_id, d, 'user:' || tenant, 'goal', 'green', 'fast' from fill, day where j = 1;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue)
select job_id, case j when 2 then 0 else -1 end, 1, d, number, number, number, number, j = 2, tenant, 'rs', 'standard' from fill, day;
insert into helio.baselines (job_id, task, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_energy_j, home_carbon_mg,
    home_cost_micro_usd, least_wait_ms, least_energy_j, least_carbon_mg, least_cost_micro_usd, estimated, tenant, home_site)
select job_id, -1, d, 1, 1, 1, 1, 1, number, 1, 1, 1, 1, 1, 1, false, tenant, 'rs' from fill, day where j = 1;
insert into helio.waiting_samples (at, tenant, queue, reason, tasks, gpus) select d, tenant, 'standard', 'NoCapacity', number, 1 from fill, day where j = 1;
insert into helio.budgets (tenant, queue, kind, period, amount, set_at) select tenant, '', 0, 1, number, d from fill, day where j = 1;
insert into helio.budgets (tenant, queue, kind, period, amount, set_at) select '*', 'batch', 1, 1, 7, d from day on conflict do nothing;

-- Who asks. Made here as an operator makes them.
select is(helio.put_reader('pgtap_reader_a', '{ra}'), null, 'a reader of one tenant');
select is(helio.put_reader('pgtap_reader_ab', '{rb,ra}'), null, 'one of two');
select is(helio.put_reader('pgtap_reader_none', '{rc}'), null, 'and one');
delete from helio.readers where reader = 'pgtap_reader_none';
create temporary table asks (who name, tenants text[]); -- null: everybody's
insert into asks values ('helio_reader', null), ('helio_broker', null), ('pgtap_reader_a', '{ra}'), ('pgtap_reader_ab', '{ra,rb}'),
    ('pgtap_reader_none', '{}');

-- ---- every view says whose its rows are -------------------------------------------------------------------

create temporary table views as
select c.oid, c.relname as name, obj_description(c.oid, 'pg_class') like '% Rows of tenants: a tenant''s reader sees only its own.' as of_tenants,
    obj_description(c.oid, 'pg_class') like '% Rows of sites: every reader sees all.' as of_sites
from pg_class c where c.relnamespace = 'helio_report'::regnamespace;
select ok(of_tenants <> of_sites, name || ' says whose its rows are') from views;

-- What each view is made of, through other views.
create temporary table made_of as
with recursive uses as (
    select v.name as view, v.oid as relation from views v
    union
    select u.view, d.refobjid
    from uses u join pg_rewrite w on w.ev_class = u.relation
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
)
select u.view, c.oid as relation, c.relname as name from uses u join pg_class c on c.oid = u.relation
where c.relnamespace = 'helio'::regnamespace;
select ok(exists (select from made_of m where m.view = v.name and m.name = 'row_visibility'), name || ' asks whose rows to show')
from views v where of_tenants;
select ok(exists (select from pg_class c where 'security_barrier=true' = any (c.reloptions)
    and (c.oid = v.oid or c.oid in (select m.relation from made_of m where m.view = v.name))), name || ' stands on a barrier')
from views v where of_tenants;
select is((select string_agg(distinct m.name, ', ') from made_of m join pg_attribute a on a.attrelid = m.relation
           where m.view = v.name and a.attname in ('tenant', 'job_id')),
    case v.name when 'energy_balance' then 'job_state, state_maybe_open, unsettled' end, name || ' is made of nothing of one tenant') -- a sum over all
from views v where of_sites;

-- ---- what each sees ---------------------------------------------------------------------------------------

create temporary table seen (who name, view name, line jsonb);
grant insert on seen to public;
do $$
declare
    ask record;
begin
    for ask in select v.name as view, a.who from views v cross join (select who from asks union all select 'all') a loop
        if ask.who <> 'all' then
            execute format('set local role %I', ask.who);
        end if;
        execute format('insert into seen select %L, %L, to_jsonb(v) from helio_report.%I v', ask.who, ask.view, ask.view);
        reset role;
    end loop;
end
$$;
create temporary table of_job as select helio.job_text(job_id, -1) as job_id, tenant from helio.jobs;
create temporary table whose as
select s.who, s.view, s.line, coalesce(s.line ->> 'tenant', j.tenant) as tenant
from seen s left join of_job j on j.job_id = regexp_replace(s.line ->> 'job_id', '\.\d+$', '');

select ok((select array_agg(distinct w.tenant) from whose w where w.who = 'all' and w.view = v.name) @> '{ra,rb,rc}',
    'rows of three tenants are in ' || name) from views v where of_tenants;
select is((select count(*) from whose w where w.who = 'all' and w.view = v.name and w.tenant is null), 0::bigint,
    'each row of ' || name || ' is some tenant''s') from views v where of_tenants;
select bag_eq(format('select line from whose where who = %L and view = %L', a.who, v.name),
    format('select line from whose where who = ''all'' and view = %L and (%L::text[] is null or tenant = any (%2$L))', v.name,
        case when v.of_tenants then a.tenants end),
    a.who || ' sees of ' || v.name || case when v.of_sites or a.tenants is null then ' everything' else ' its own' end)
from views v cross join asks a;

-- ---- nobody looks past the barrier ------------------------------------------------------------------------

-- A reader's own function, cheaper than anything of the view's, keeps what it is shown.
create function pg_temp.peek(word text) returns boolean language plpgsql cost 0.000001 as $$
begin
    perform set_config('peek.words', current_setting('peek.words') || '|' || word, true);
    return true;
end
$$;
create temporary table peeked (view name, of_column name, words text[]);
grant select, insert on peeked to public;
create procedure pg_temp.peek_at_all() language plpgsql as $$
declare
    target record;
begin
    for target in select c.relname as view, a.attname as name
                  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
                  where c.relnamespace = 'helio_report'::regnamespace and a.attname in ('tenant', 'job_id')
    loop
        perform set_config('peek.words', '', true);
        execute format('select from helio_report.%I v where pg_temp.peek(v.%I)', target.view, target.name);
        insert into peeked values (target.view, target.name, string_to_array(current_setting('peek.words'), '|'));
    end loop;
end
$$;
create function pg_temp.leaks(of_words text[]) returns boolean language sql as $$
    select exists (select from unnest(of_words) w where w in ('rb', 'rc')
        or regexp_replace(w, '\.\d+$', '') in (select job_id from of_job where tenant in ('rb', 'rc')))
$$;

set local role pgtap_reader_a;
call pg_temp.peek_at_all();
reset role;
select is((select count(distinct view) from peeked), (select count(*) from views where of_tenants), 'every view of tenants is peeked at');
select ok(cardinality(words) > 1 and not pg_temp.leaks(words), format('%s.%s shows a function its own rows only', view, of_column)) from peeked;
set local role pgtap_reader_a;
select lives_ok(format('select from helio_report.%I where 1 / case tenant when ''ra'' then 1 else 0 end > 0', view),
    'no error tells of rows of others in ' || view) from peeked where of_column = 'tenant';
reset role;

-- Without the barrier the same function is shown more: the tests above can fail.
delete from peeked;
alter view helio.visible_tasks reset (security_barrier);
alter view helio_report.placements reset (security_barrier);
set local role pgtap_reader_a;
call pg_temp.peek_at_all();
reset role;
select ok(bool_or(pg_temp.leaks(words)), view || ' leaks without its barrier') from peeked where view in ('jobs', 'placements') group by view;

-- ---- what a reader may do ---------------------------------------------------------------------------------

select ok(rolcanlogin and not rolsuper and not rolcreaterole and not rolcreatedb and not rolbypassrls and rolconnlimit = 20
    and rolconfig @> array ['default_transaction_read_only=on', 'statement_timeout=30s', 'idle_in_transaction_session_timeout=30s',
        'jit=off', 'random_page_cost=1.1'],
    'a tenant''s reader may log in, little else, with the operator''s reader''s limits')
from pg_roles where rolname = 'pgtap_reader_a';
select ok(not has_schema_privilege('pgtap_reader_a', 'helio', 'usage') and not has_schema_privilege('pgtap_reader_a', 'helio_report', 'create'),
    'it does not see schema helio');
select ok(not has_table_privilege('pgtap_reader_a', c.oid, 'select, insert, update, delete'), 'it has no right to ' || relname)
from pg_class c where relnamespace = 'helio'::regnamespace and relkind in ('r', 'v');
select ok(not has_table_privilege('pgtap_reader_a', oid, 'insert, update, delete'), 'it changes nothing of ' || name) from views;
set local role pgtap_reader_a;
select is_empty($$select from pg_auth_members where member = 'pgtap_reader_a'::regrole$$, 'it is a member of no role');
select throws_ok($$insert into helio.readers (reader, tenant) values ('pgtap_reader_a', 'rb')$$, '42501', null, 'it gives itself no tenant');
reset role;

-- ---- what no setting of a reader's takes back ---------------------------------------------------------------

select is_empty('select helio.missing_privilege_checks()', 'no privilege check is missing');
select ok(rolconfig @> array ['temp_file_limit=1GB'], rolname || ' fills a gigabyte of disk at most')
from pg_roles where rolname in ('helio_reader', 'pgtap_reader_a');
create temporary table refused as
select unnest(array ['select pg_advisory_lock(7524442231838172527)', 'select pg_try_advisory_xact_lock_shared(75, 24)',
    'create temporary table fill_disk (a text)', 'select lo_from_bytea(0, ''x'')', 'select lo_creat(-1)',
    'select pg_logical_emit_message(false, ''x'', ''x'')', 'create table public.fill_disk (a text)', 'set temp_file_limit = -1',
    'alter role current_user reset temp_file_limit']) as statement;
grant select on refused to public;
set local role pgtap_reader_a;
select throws_ok(statement, '42501', null, 'a tenant''s reader may not: ' || statement) from refused;
set local role helio_reader;
select throws_ok(statement, '42501', null, 'the operator''s may not: ' || statement) from refused;
set local role helio_broker;
select lives_ok('select pg_try_advisory_xact_lock(7524442231838172527)', 'the broker''s login may lead');
select lives_ok('create temporary table of_broker (a text)', 'and has its temporary tables');
reset role;
select set_eq($$select f from (values ('temporary'), ('create')) v (f) where has_database_privilege('helio_reader', current_database(), f)$$,
    '{}'::text[], 'nothing is made in the database');

-- A database whose broker is neither helio_broker nor a superuser, and one whose migration may not close functions.
create role pgtap_lead;
grant usage on schema helio to pgtap_lead;
grant select on all tables in schema helio to pgtap_lead;
grant update on helio.federation to pgtap_lead;
select matches((select string_agg(m, ' ') from helio.missing_privilege_checks() m),
    'grant execute on function .*pg_advisory_lock\(bigint\).* to .*pgtap_lead; .*grant temporary on .*pgtap_lead', 'who may lead lacks the locks');
set local role pgtap_lead;
select throws_ok('select pg_try_advisory_xact_lock(7524442231838172527)', '42501', null, 'it does');
select matches(helio.add_privilege_checks(), '^grant execute on function .* from public; grant temporary', 'and cannot give them to itself');
reset role;
select is(helio.add_privilege_checks(), null, 'a superuser does');
set local role pgtap_lead;
select lives_ok('select pg_try_advisory_xact_lock(7524442231838172527)', 'then it may lead');
reset role;
grant execute on function pg_catalog.pg_advisory_lock(bigint) to public;
set local role pgtap_lead;
select matches(helio.add_privilege_checks(), '^grant execute on function .*; revoke execute on function .* from public;$', 'who may not close them is told what to run');
reset role;
set local role pgtap_reader_a;
select lives_ok('select pg_advisory_lock(77)', 'an open lock is open: the tests above can fail');
select lives_ok('select pg_advisory_unlock(77)', 'and is let go');
reset role;
select is(helio.put_reader('pgtap_reader_a', '{ra}'), null, 'adding a reader closes it where it may');
select is_empty('select helio.missing_privilege_checks()', 'and it is closed');

-- ---- what an estimate tells -------------------------------------------------------------------------------

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, home_site, name, queue,
    spec_hash, source)
select ('0199f9bb-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, d, 1, 1, 1, 1, 1, 1, 'rb', 'rb-user', 'rs', 'rb-secret',
    'standard', 'h', 's' from day, generate_series(1, 300) i;
insert into helio.transitions (seq, job_id, task, epoch, from_state, to_state, at, reason, actor)
select 999000 + i, '0199f2aa-0000-7000-8000-000000000002', -1, 1, 4, 6, d, 'rb-reason', 'user:rb-user' from day, generate_series(1, 300) i;
insert into helio.edited (seq, place, job_id, at, actor, field, before, after)
select 999000 + i, 0, '0199f2aa-0000-7000-8000-000000000002', d, 'user:rb-user', 'goal', 'rb-old', 'rb-new' from day, generate_series(1, 300) i;
analyze helio.jobs, helio.transitions, helio.edited;
create function pg_temp.explained(query text) returns setof text language plpgsql as $$
declare
    line text;
begin
    for line in execute 'explain ' || query loop
        return next substring(line from 'rows=\d+');
    end loop;
end
$$;
create function pg_temp.estimate(view text, of_column text, word text) returns text language sql as $$
    select string_agg(e, ' ') from pg_temp.explained(format('select * from helio_report.%I where %I = %L', view, of_column, word)) e
$$;
set local role pgtap_reader_a;
select is(pg_temp.estimate(v, c, there), pg_temp.estimate(v, c, 'nothing-of-this'), format('no estimate tells which there are: %s.%s', v, c))
from (values ('jobs', 'name', 'rb-secret'), ('jobs', 'user_name', 'rb-user'), ('jobs', 'tenant', 'rb'), ('jobs', 'home_site', 'rs'),
    ('job_transitions', 'reason', 'rb-reason'), ('job_transitions', 'actor', 'user:rb-user'), ('edits', 'tenant', 'rb'),
    ('edits', 'actor', 'user:rb-user'), ('edits', 'from_value', 'rb-old'), ('edits', 'to_value', 'rb-new')) x (v, c, there);
reset role;
select isnt((select string_agg(e, ' ') from pg_temp.explained('select from helio.jobs where name = ''rb-secret''') e),
    (select string_agg(e, ' ') from pg_temp.explained('select from helio.jobs where name = ''nothing-of-this''') e),
    'those of the table do');

-- ---- made, changed, taken away ----------------------------------------------------------------------------

select is(helio.put_reader('pgtap_reader_a', '{rb}'), null, 'a reader gets other tenants');
select results_eq($$select tenant from helio.readers where reader = 'pgtap_reader_a'$$, $$values ('rb')$$, 'and these are all');
select throws_ok($$select helio.put_reader('pgtap_reader_a', '{rb,nobody}')$$, 'HE003', null, 'a tenant that there is not');
select throws_ok(format('select helio.put_reader(%L, ''{ra}'')', who), 'HE003', null, who || ' is no tenant''s reader')
from unnest(array ['helio_reader', 'helio_broker', current_user]) who;
create role pgtap_plain;
grant usage on schema helio, helio_report to pgtap_plain;
grant select, insert, delete on all tables in schema helio to pgtap_plain;
grant select on all tables in schema helio_report to pgtap_plain;
set local role pgtap_plain;
select matches(helio.put_reader('pgtap_reader_x', '{ra}'), '^create role pgtap_reader_x login; alter role .* grant select on all tables',
    'who may not make roles is told what to run');
select is(helio.drop_reader('pgtap_reader_ab'), 'drop owned by pgtap_reader_ab; drop role pgtap_reader_ab;', 'or to remove them');
reset role;
select ok(not exists (select from pg_roles where rolname = 'pgtap_reader_x'), 'there is no half of a reader');
select is(helio.put_reader('pgtap_reader_x', '{ra}'), null, 'a superuser makes it');
select ok(helio.reader_is_ready('pgtap_reader_x'), 'and then it is ready');
set local role pgtap_reader_ab;
select is_empty('select from helio_report.jobs', 'whose tenants are taken sees none, at once');
reset role;
select is(helio.drop_reader('pgtap_reader_a'), null, 'a reader goes');
select ok(not exists (select from pg_roles where rolname = 'pgtap_reader_a'), 'with its login');
select throws_ok($$select helio.drop_reader('pgtap_reader_a')$$, 'HE003', null, 'once');

-- ---- functions of views ------------------------------------------------------------------------------------
-- A view reads tables with its owner's privileges, but a function in it runs with the reader's. So one that reads tables has to run
-- with its owner's, too, or it fails as soon as a row needs it.
select is_empty($$
    with recursive views as (
        select c.oid from pg_class c where c.relnamespace = 'helio_report'::regnamespace and c.relkind = 'v'
        union
        select d.refobjid
        from views v join pg_rewrite r on r.ev_class = v.oid
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
        join pg_class c on c.oid = d.refobjid and c.relkind = 'v'
    ), functions as (
        select d.refobjid as oid
        from views v join pg_rewrite r on r.ev_class = v.oid
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
        union
        select d.refobjid
        from functions f join pg_proc p on p.oid = f.oid and not p.prosecdef
        join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.refclassid = 'pg_proc'::regclass
    )
    select f.oid::regprocedure
    from functions f join pg_proc p on p.oid = f.oid and not p.prosecdef
    where f.oid <> 'helio.sees_every_tenant(name)'::regprocedure -- names a table, and reads none
      and exists (select from pg_depend d join pg_class c on c.oid = d.refobjid
                  where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass
                    and c.relnamespace = 'helio'::regnamespace)$$,
    'no function of a view reads tables with the privileges of the reader');

select * from finish();
rollback;
