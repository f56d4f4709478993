-- Lists of jobs: every filter keeps the pages exact, in portions as in one piece.
begin;
set local jit = off; -- as for the readers of the broker
select no_plan();

-- Jobs from another time than others, newest first: of two users, in two queues and at two sites; each tenth is an array of three tasks.
create temporary table fill as
select n, helio.id_floor(1600000000000 + n * 1000::bigint) as job_id, 'user' || n % 2 as user_name, (array ['la', 'lb', 'lc'])[1 + n % 3] as queue,
    (array [8, 9, 10, 4, 0, 13])[1 + n % 6] as state, case when n % 4 > 0 then 'site' || n % 2 end as site, n % 10 = 0 as of_array
from generate_series(1, 240) n;
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, user_name, queue, name, spec_hash, source, tasks)
select job_id, helio.ms_at(helio.id_ms(job_id)), 1, 1, 1 + n % 8, 1, 1, 1, 'pages', user_name, queue, 'job' || n, 'h', 's',
    case when of_array then array [0, 1, 7] end from fill;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, at, started_at, finished_at, site)
select job_id, t, case when t = 7 then 9 else state end, 0, 0, 1, 1, 0, 0, 0, n * 7 % 100 * 1000000, 0, 0, 0, now(), helio.ms_at(helio.id_ms(job_id) + 5000),
    case when state between 8 and 12 then now() end, site
from fill, unnest(case when of_array then array [0, 7] else array [-1] end) t where state <> 0 or t = 7;
insert into helio.labels select job_id, 'team', 'nlp' from fill where n % 5 = 0;
insert into helio.labels select job_id, 'phase', 'p' || n % 2 from fill where n % 5 = 0;
insert into helio.edits (job_id, at, flexible_ms, max_cost_micro_usd, max_carbon_mg_per_kwh, class_id, priority, goal, tier, prices_set, queue)
select job_id, now(), 0, 0, 0, 1, 0, 2, 1, false, 'lx' from fill where n = 100;

-- The whole list in pages, as a client reads it.
create function pg_temp.pages(of_tenant text, states text, queue text, name text, of_user text, site text, since text, until text, labels text, whole text, most text)
    returns text[] language plpgsql as $$
declare
    page jsonb;
    after_id text;
    ids text[] := '{}';
begin
    loop
        page := helio.list_jobs(of_tenant, states, queue, name, of_user, site, since, until, labels, null, whole, after_id, most)::jsonb;
        ids := ids || array (select e ->> 'id' from jsonb_array_elements(page -> 'jobs') e);
        after_id := page ->> 'next';
        exit when after_id is null;
    end loop;
    return ids;
end
$$;
create function pg_temp.expected(of_tenant text, states text, of_queue text, of_name text, of_user text, of_site text, since text, until text, labels text, whole text)
    returns text[] language sql as $$
    select coalesce(array_agg(helio.job_text(r.job_id, r.task) order by r.job_id desc, r.task), '{}')
    from (select distinct t.job_id, case when whole = 'whole' then -1 else t.task end as task
          from helio.tasks_now t
          where t.tenant = of_tenant and (states is null or t.state = any (array (select helio.state_of(w) from unnest(string_to_array(states, ',')) w)))
            and (of_queue is null or t.queue = of_queue) and (of_name is null or t.name = of_name)
            and (of_user is null or t.user_name = of_user) and (of_site is null or t.site = of_site)
            and (since is null or helio.time_ms(t.submitted_at) >= since::bigint) and (until is null or helio.time_ms(t.submitted_at) < until::bigint)
            and (labels is null or (select count(*) from helio.labels l join unnest(string_to_array(labels, ',')) w
                    on l.key = split_part(w, '=', 1) and (w !~ '=' or l.value = split_part(w, '=', 2)) where l.job_id = t.job_id)
                = cardinality(string_to_array(labels, ',')))) r
    $$;

-- What is shown
select is(helio.list_jobs('pages', null, null, 'job5', null, null, null, null, null, null, null, null, '4')::jsonb -> 'jobs' -> 0 -> 'labels',
    '{"team": "nlp", "phase": "p1"}', 'labels');
select is(helio.list_jobs('pages', null, null, 'job6', null, null, null, null, null, null, null, null, '4')::jsonb -> 'jobs' -> 0 -> 'labels', '{}', 'or none');
select is(helio.list_jobs('pages', null, null, 'job10', null, null, null, null, null, null, 'whole', null, '4')::jsonb -> 'jobs' -> 0 -> 'tasks',
    '{"queued": 2, "failed": 1}', 'an array says how many of its tasks are in which state');
select is(array (select jsonb_object_keys(helio.array_object(job_id)::jsonb - 'tasks' - 'tasks_total') from fill where n = 10 order by 1),
    array (select jsonb_object_keys(helio.task_object(t)::jsonb) from helio.tasks_now t join fill using (job_id) where n = 10 and task = 0 order by 1),
    'an array has what a task has');

create temporary table cases (states text, queue text, name text, of_user text, site text, since text, until text, labels text);
insert into cases
select s, q, null, u, w, f, t, l
from (select *, row_number() over (order by s, q, u, w, f, l) as n from (select s, q, u, w, f, t, l
from unnest(array [null, 'queued', 'running,queued', 'held', 'succeeded', 'failed', 'failed,timeout', 'failed,running']) s
cross join unnest(array [null, 'lb', 'lx']) q cross join unnest(array [null, 'user1', 'nobody']) u cross join unnest(array [null, 'site1']) w
cross join (values (null, null), ('1600000030000', '1600000200000')) r (f, t)
cross join unnest(array [null, 'team', 'team=nlp,phase=p1', 'team=other']) l) a) c
where n % 97 = 0 or num_nonnulls(s, q, u, w, f, l) < 2;
insert into cases values (null, null, 'job77', null, null, null, null, null);

create function pg_temp.differ(mode text, most text) returns bigint language sql as $$
    select count(*) from cases c
    where pg_temp.pages('pages', states, queue, name, of_user, site, since, until, labels, mode, most)
        is distinct from pg_temp.expected('pages', states, queue, name, of_user, site, since, until, labels, mode)
    $$;
select ok((select count(*) from cases c where pg_temp.expected('pages', states, queue, name, of_user, site, since, until, labels, null) <> '{}') > 5,
    'filters choose something');
select is(pg_temp.differ(null, '23'), 0::bigint, 'pages under every filter are exact');
select is(pg_temp.differ('whole', '50'), 0::bigint, 'and with whole arrays');

-- Old jobs are settled: failures stand in a table of their own, and what is open in another.
update helio.settled set mark = helio.id_floor(1600000000000 + 200 * 1000);
update helio.federation set open_from = helio.id_floor(1600000000000 + 200 * 1000);
insert into helio.unsettled select distinct t.job_id from helio.tasks_now t join fill f using (job_id)
where not helio.state_is_over(t.state) and f.n < 200;
insert into helio.ended_badly (state, job_id, task) select s.state, s.job_id, s.task from helio.job_state s join fill f using (job_id)
where s.state between 9 and 12 and f.n < 200;
select is(pg_temp.differ(null, '50'), 0::bigint, 'pages of settled jobs are exact');
select is(pg_temp.differ('whole', '50'), 0::bigint, 'and with whole arrays');

-- Sorted
select is((helio.list_jobs('pages', null, null, null, null, null, null, null, null, 'cost', null, null, '4')::jsonb -> 'jobs' -> 0 ->> 'cost_usd')::float8,
    (select max(cost_usd) from helio.tasks_now where tenant = 'pages'), 'the dearest first');
select is(array (select (e ->> 'cost_usd')::float8 from jsonb_array_elements(helio.list_jobs('pages', null, null, null, null, null, null, null, null,
        'cost', null, null, '40')::jsonb -> 'jobs') e),
    array (select cost_usd from helio.tasks_now where tenant = 'pages' order by cost_usd desc limit 40), 'and the others after it');
select is(helio.list_jobs('pages', null, null, null, null, null, null, null, null, 'gpus', null, null, '4')::jsonb ->> 'looked_to', null,
    'all of few jobs were looked at');

-- Two tenants with many arrays of 10,000 tasks: of one, nothing was placed; of each of the other's, 50 tasks. A request reads few of them.
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, name, spec_hash, source, tasks)
select helio.id_floor(1700000000000 + n * 1000::bigint), helio.ms_at(1700000000000 + n * 1000::bigint), 1, 1, 1, 1, 1, 1,
    case when n > 250 then 'vast' else 'large' end, 'la', 'job' || n, 'h', 's', x.tasks
from generate_series(1, 500) n, (select array_agg(t) as tasks from generate_series(0, 9999) t) x;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, at, site)
select j.job_id, t, case when t = 199 then 9 else 8 end, 0, 0, 1, 1, 0, 0, 0, 1000000, 0, 0, 0, now(), 'site1'
from helio.jobs j, generate_series(150, 199) t where j.tenant = 'large';
analyze helio.jobs, helio.job_state;
create temporary table slow as
select row_number() over () as n, c.*, null::interval as took
from (select w as of_tenant, s as states, i as site, k as sorted, a as arrays, m as name
      from unnest(array ['vast', 'large', null]) w cross join unnest(array [null, 'queued', 'running', 'failed', 'held']) s
      cross join unnest(array [null, 'nosuch']) i cross join unnest(array [null, 'cost']) k cross join unnest(array [null, 'whole']) a
      cross join unnest(array [null, 'other']) m) c
where num_nonnulls(states, site, sorted, arrays, name) < 3;
do $$
declare
    l record;
    began timestamptz;
begin
    for l in select * from slow loop
        for i in 1..3 loop
            began := clock_timestamp();
            perform helio.list_jobs(l.of_tenant, l.states, null, l.name, null, l.site, null, null, null, l.sorted, l.arrays, null, '100');
            update slow w set took = least(w.took, clock_timestamp() - began) where w.n = l.n;
            exit when clock_timestamp() - began < '500 milliseconds'; -- the machine may be busy with others' work
        end loop;
    end loop;
end
$$;
select is(array (select w::text from slow w where took > '500 milliseconds' order by took desc limit 3), '{}', 'no list waits for all tasks of arrays');
select is(helio.list_jobs('large', null, null, null, null, null, null, null, null, 'cost', null, null, '4')::jsonb ->> 'looked_to',
    '2023-11-14T22:17:30.000Z', 'sorted ones look through few arrays');
delete from helio.jobs j where j.tenant = 'vast' or j.tenant = 'large' and j.job_id >= helio.id_floor(1700000004000);
delete from helio.job_state s where s.job_id >= helio.id_floor(1700000004000);
update helio.jobs set tasks = tasks[:1200] where tenant = 'large';
create function pg_temp.large(mode text, most text) returns bigint language sql as $$
    select count(*) from (values (null, 'site1'), ('succeeded', null), ('failed', null), ('queued', null), ('running', null), (null, null)) c (s, i)
    where pg_temp.pages('large', s, null, null, null, i, null, null, null, mode, most)
        is distinct from pg_temp.expected('large', s, null, null, null, i, null, null, null, mode)
    $$;
select is(pg_temp.large(null, '1000'), 0::bigint, 'every task of large arrays is on one page');
select is(pg_temp.large('whole', '1'), 0::bigint, 'and every whole array');

-- In small portions, and without patience: a page can be empty and have a next one.
do $$
declare
    body text := pg_get_functiondef('helio.list_jobs'::regproc);
    w text[];
begin
    foreach w slice 1 in array array [array ['portion integer := 500', 'portion integer := 25'], array ['portion_most constant integer := 2000',
        'portion_most constant integer := 25'], array ['/ 2, 500)', '/ 2, 25)'], array ['rows_per_task constant integer := 10',
        'rows_per_task constant integer := 1'], array ['whole_tasks constant integer := 30000', 'whole_tasks constant integer := 9'],
        array ['150 milliseconds', '-1 seconds']] loop
        if strpos(body, w[1]) = 0 then
            raise 'no %', w[1];
        end if;
        body := replace(body, w[1], w[2]);
    end loop;
    execute body;
end
$$;
select is(pg_temp.differ(null, '50'), 0::bigint, 'pages in portions are exact');
select is(pg_temp.differ('whole', '50'), 0::bigint, 'and with whole arrays');
select is(pg_temp.large(null, '1000'), 0::bigint, 'and of large arrays');
select is(pg_temp.large('whole', '10'), 0::bigint, 'and of large whole ones');
select ok(exists (select from jsonb_each(helio.list_jobs('pages', 'succeeded', 'lx', null, null, null, null, null, null, null, null, null, '9')::jsonb) e
    where e.key = 'next' and e.value <> 'null'), 'a page can be empty and have a next one');

-- A user that has no token is unknown; those that have one are named.
insert into helio.tokens (token_id, hash, tenant, user_name, role, created_at) values ('lists', sha256('x'), 'pages', 'ada', 'user', now());
select is(helio.list_jobs('pages', null, null, null, 'adda', null, null, null, null, null, null, null, '4')::jsonb -> 'users', '["ada"]', 'users that there are');
select is(helio.list_jobs('pages', null, null, null, 'ada', null, null, null, null, null, null, null, '4')::jsonb -> 'users', null, 'a known one without jobs');

select * from finish();
rollback;
