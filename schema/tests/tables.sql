-- The guards that delivery rests on: they must hold whatever the program does.
begin;
select no_plan();

select has_table('helio', name::name, 'table ' || name) from unnest(array ['schema_migrations', 'federation', 'tenants', 'tokens',
    'site_keys', 'queues', 'sites', 'pools', 'capacity_now', 'capacity_samples', 'series', 'series_now', 'jobs',
    'job_tails', 'job_state', 'placements', 'attempts', 'ledger', 'transitions', 'decisions', 'candidates', 'classes',
    'audit', 'dependencies', 'gates', 'quotas', 'budgets', 'data', 'links', 'queue_rules', 'overflows', 'curtailments', 'edits',
    'edited', 'labels']) name;

select col_is_pk('helio', 'jobs', 'job_id', 'a job is one row');
select col_is_pk('helio', 'job_state', array ['job_id', 'task'], 'a task has one state');
select col_is_pk('helio', 'placements', array ['job_id', 'task', 'epoch'], 'an epoch is placed once');
select col_is_pk('helio', 'attempts', array ['job_id', 'task', 'epoch'], 'an attempt ends once');
select index_is_unique('helio', 'attempts', 'attempts_one_completion', 'a job completes once');
select index_is_unique('helio', 'jobs', 'jobs_idempotency', 'a key of a tenant names one job');
select set_eq($$select a.attname from pg_index i
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid > 0
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid where i.indrelid = 'helio.job_state'::regclass
    union select a.attname from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
    where c.conrelid = 'helio.job_state'::regclass and c.contype = 'p'$$,
    array ['job_id', 'task']::name[], 'job_state has no index on what changes');
select ok('fillfactor=50' = any (reloptions), 'job_state leaves room for updates')
from pg_class where oid = 'helio.job_state'::regclass;
select bag_eq('select queue, priority, tier, time_limit_ms / 3600000 from helio.queues',
    $$values ('express', 1000, 2::int2, 1::int8), ('reserved', 800, 2::int2, 24::int8), ('standard', 500, 1::int2, 24::int8),
        ('batch', 100, 1::int2, 24::int8), ('preemptible', 10, 0::int2, 24::int8)$$, 'the queues of the manual');

-- Ends
prepare ended(int, boolean, boolean) as insert into helio.attempts values ('0199aaaa-0000-7000-8000-000000000001', -1, $1, 5,
    $2, $3, 0, now(), now(), now(), 1, 1, 1, 0, 'lulea');
select lives_ok('execute ended(1, true, false)', 'a completion');
select throws_ok('execute ended(1, false, false)', '23505', null, 'the same attempt again');
select throws_ok('execute ended(2, true, false)', '23505', null, 'a second completion of another epoch');
select lives_ok('execute ended(2, false, true)', 'a fenced end is evidence');
select throws_ok('execute ended(3, true, true)', '23514', null, 'a fenced end never completes');

-- Transitions
prepare moved(bigint, int2, int2) as insert into helio.transitions values ($1, '0199aaaa-0000-7000-8000-000000000001', -1, 1,
    $2, $3, now());
select lives_ok('execute moved(1, 0, 1)', 'queued to offered is listed');
select throws_ok('execute moved(2, 8, 4)', '23514', null, 'succeeded to running is not');
select throws_ok(format('execute moved(2, 7, %s)', s), '23514', null, 'suspect to ' || helio.state_word(s::int2) || ' is not')
from unnest(array [8, 9, 10]) s;
select throws_ok('execute moved(2, 2, 9)', '23514', null, 'accepted to failed is not');
select ok(not convalidated, 'transitions of earlier releases are not held to the present list')
from pg_constraint where conname = 'transitions_listed';
select lives_ok('execute moved(2, 0, 0)', 'a queued job is edited');
select lives_ok('execute moved(3, 13, 13)', 'a held one too');
select throws_ok('execute moved(4, 4, 4)', '23514', null, 'but none that runs');
select throws_ok('execute moved(4, 0, 14)', '23514', null, 'nor to what is no state');
select throws_ok('execute moved(4, 14, 0)', '23514', null, 'nor from what is no state');

-- States
prepare hastened(int2) as insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures,
        at, gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done, haste)
    values ('0199aaaa-0000-7000-8000-000000000001', 900 + $1, 6, 0, 1, 1, 1, 0, 0, now(), 0, 0, 0, 0, 0, $1);
select lives_ok(format('execute hastened(%s)', n), 'the haste of a stop is one of three: ' || n) from generate_series(0, 2) n;
select throws_ok('execute hastened(3)', '23514', null, 'and no other');

-- What happened stays as it happened, for the owner too
select throws_ok('update helio.attempts set completes = false', 'HE002', null, 'attempts are append-only');
select throws_ok('delete from helio.transitions', 'HE002', null, 'transitions are append-only');
select throws_ok('truncate helio.ledger', 'HE002', null, 'the ledger is append-only');
insert into helio.edited values (2, 0, '0199aaaa-0000-7000-8000-000000000001', now(), 'user:ada', 'goal', 'balanced', 'green');
select throws_ok('update helio.edited set after = ''fast''', 'HE002', null, 'what was edited is append-only');
select throws_ok('delete from helio.audit', 'HE002', null, 'the audit is append-only');

-- How what a job waits for ended
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source, tasks)
select ('0199bbbb-0000-7000-8000-00000000000' || i)::uuid, now(), 1, 1, 1, 1, 1, 1, 'acme', 'standard', 'h', 's',
    case when i > 2 then array[0, 1] end from generate_series(1, 5) i;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, at)
select ('0199bbbb-0000-7000-8000-00000000000' || i)::uuid, t, s, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, now()
from (values (1, -1, 8), (3, 0, 8), (3, 1, 8), (4, 0, 8), (4, 1, 9), (5, 0, 12), (5, 1, 4)) v (i, t, s);
select is(helio.ended_well(('0199bbbb-0000-7000-8000-00000000000' || i)::uuid, t), well, format('job %s task %s', i, t))
from (values (1, -1, true), (2, -1, null), (3, -1, true), (4, -1, false), (5, -1, null), (4, 0, true), (4, 1, false), (5, 1, null),
    (5, 7, null), (6, -1, null)) v (i, t, well);
select throws_ok($$insert into helio.dependencies values ('0199bbbb-0000-7000-8000-000000000001', 0, 9,
    '0199bbbb-0000-7000-8000-000000000002', -1)$$, '23514', null, 'a way to depend that is not listed');

-- Edits
insert into helio.edits (job_id, at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier,
    prices_set, queue)
select '0199bbbb-0000-7000-8000-000000000003', now(), 0, 0, 0, 77, 5, 3, 1, false, 'batch';
select throws_ok('update helio.edits set priority = 101', '23514', null, 'a priority beyond its bound');
select is((select queue || ' ' || class_id || ' ' || priority from helio.tasks_now
           where job_id = '0199bbbb-0000-7000-8000-000000000003' and task = 1), 'batch 77 5', 'every task is as it was edited');
select is((select queue || ' ' || class_id || ' ' || priority from helio.tasks_now
           where job_id = '0199bbbb-0000-7000-8000-000000000002'), 'standard 1 0', 'a job that was not is as it came');

-- Audit
insert into helio.audit (at, actor, action, detail) select now(), 'user:ada', 'drain', 'reason ' || i from generate_series(1, 5) i;
select is(helio.audit_verify(), null, 'a chain is whole');
select is_empty($$select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()$$, 'by no lock that any login may take');
select ok((select f.xmax = pg_current_xact_id()::xid from helio.federation f), 'but by the row that each batch takes first');
select is((select count(distinct hash) from helio.audit), (select count(*) from helio.audit), 'each link is its own');
alter table helio.audit disable trigger append_only;
update helio.audit set actor = 'user:eve' where audit_id = 3;
select is(helio.audit_verify(), 3::bigint, 'an edit shows');
update helio.audit set actor = 'user:ada' where audit_id = 3;
delete from helio.audit where audit_id = 2;
select is(helio.audit_verify(), 3::bigint, 'a gap shows');

-- Principals
insert into helio.tokens (token_id, hash, tenant, user_name, role, created_at, expires_at, revoked_at) values
    ('p1', sha256('1'), 'pt', 'ada', 'user', '2026-01-01', null, null),
    ('p2', sha256('2'), 'pt', 'ada', 'admin', '2026-01-02', null, null),
    ('p3', sha256('3'), 'pt', 'ada', 'operator', '2026-01-03', null, '2026-01-04'),
    ('p4', sha256('4'), 'pt', 'bob', 'user', '2026-01-01', null, '2026-01-05'),
    ('p5', sha256('5'), 'pt', 'cyd', 'user', '2026-01-01', '2026-01-02', null),
    ('p6', sha256('6'), 'pu', 'ada', 'user', '2026-01-06', null, null);
insert into helio.site_keys values ('k1', 'p-north', '2026-01-01', '2026-01-02'), ('k2', 'p-north', '2026-01-03', null),
    ('k3', 'p-south', '2026-01-01', '2026-01-02');
select results_eq($$select kind, name, tenant, roles, created_at, revoked_at from helio.principals_now
        where tenant in ('pt', 'pu') or name like 'p-%' order by kind, name, tenant$$,
    $$values ('site', 'p-north', null, '{site}'::text[], '2026-01-01'::timestamptz, null::timestamptz),
        ('site', 'p-south', null, '{}', '2026-01-01', '2026-01-02'),
        ('user', 'ada', 'pt', '{admin,user}', '2026-01-01', null),
        ('user', 'ada', 'pu', '{user}', '2026-01-06', null),
        ('user', 'bob', 'pt', '{}', '2026-01-01', '2026-01-05'),
        ('user', 'cyd', 'pt', '{}', '2026-01-01', null)$$, 'every principal is named once');
select is((select string_agg(token_id, ' ' order by token_id) from helio.tokens where principal = 'user:pt/ada'), 'p1 p2 p3',
    'its tokens refer to it');
select is((select string_agg(public_key, ' ' order by public_key) from helio.site_keys where principal = 'site:p-north'), 'k1 k2',
    'and keys to their sites');
update helio.principals set disabled_at = '2026-02-01' where principal = 'user:pt/ada';
insert into helio.tokens (token_id, hash, tenant, user_name, role, created_at) values ('p7', sha256('7'), 'pt', 'ada', 'user', now());
select is((select array_to_string(roles, ' ') || '|' || disabled_at from helio.principals_now where tenant = 'pt' and name = 'ada'),
    '|' || '2026-02-01'::timestamptz, 'who is disabled has no role, and stays so with another token');
select throws_ok($$delete from helio.principals where principal = 'user:pt/ada'$$, '23503', null, 'who has tokens is not forgotten');
select throws_ok($$update helio.principals set disabled_at = now() where principal = 'site:p-north'$$, '23514', null,
    'a site is not disabled: its keys are revoked');
select throws_ok($$insert into helio.principals values ('user:a/b', 'user', 'a', 'c', now())$$, '23514', null, 'a name that is another''s');
select has_table('helio', 'principals', 'table principals');

-- Leadership. A leader's session has a search path of its own, which this file then sets back.
create temporary table lead as select * from helio.lead('test');
set search_path = public;
select ok(leads, 'who has the lock leads') from lead;
select lives_ok((select format('select helio.take_batch(%s, 1, %L)', epoch, '0199aaaa-0000-7000-8000-000000000001') from lead), 'its first batch');
select throws_ok((select format('select helio.take_batch(%s, 1, %L)', epoch, '0199aaaa-0000-7000-8000-000000000001') from lead), 'HE001', null, 'not twice');
select throws_ok((select format('select helio.take_batch(%s, 3, %L)', epoch, '0199aaaa-0000-7000-8000-000000000003') from lead), 'HE001', null, 'not out of turn');
select throws_ok((select format('select helio.take_batch(%s, 2, %L)', epoch - 1, '0199aaaa-0000-7000-8000-000000000002') from lead), 'HE001', null, 'not of an older epoch');
select is(open_from, '0199aaaa-0000-7000-8000-000000000001'::uuid, 'the mark is that of the last batch') from helio.federation;
create temporary table resumed as select r.* from lead, helio.resume(epoch) r;
set search_path = public;
create temporary table outdated as select r.* from lead, helio.resume(epoch - 1) r;
set search_path = public;
select ok(leads and same_epoch and same_database, 'a leader that comes back leads') from resumed;
select is(last_batch, 1::bigint, 'and learns its last batch') from resumed;
select ok(not same_epoch, 'an older one learns that it is over') from outdated;

create temporary table granting as select l.* from helio.lead('test', 3600000) l;
set search_path = public;
select ok(g.leads and f.broker_epoch = g.epoch, 'a leader says what it grants') from granting g, helio.federation f;
create temporary table shorter as select l.* from helio.lead('test', 60000) l;
set search_path = public;
select is(lease_ms, 60000::bigint, 'the next one may grant less') from helio.federation;
select is(leases_until, now() + interval '1 hour', 'but what was granted before may run yet') from helio.federation;

select ok(helio.is_led(), 'whoever looks sees that somebody leads');
select is(http, '', 'a leader that does not say where it is reached is not reached') from helio.federation;
create temporary table reached as select l.* from helio.lead('test', 60000, 'http://10.0.0.7:7480') l;
set search_path = public;
select ok(r.leads and f.broker_epoch = r.epoch and f.http = 'http://10.0.0.7:7480', 'and one that says is reached there')
from reached r, helio.federation f;
select pg_advisory_unlock_all();
select ok(not helio.is_led(), 'nobody leads any more');

select * from finish();
rollback;
