-- The text of a job's id, and how a job is found by it: the condition reaches an index, whoever asks.
begin;
select no_plan();

-- Written down once more, digit by digit.
create function pg_temp.slowly(job uuid, task integer) returns text language sql as $$
    select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(b.bits from i * 5 + 1 for 5)::integer + 1, 1), '' order by i)
           || case when task >= 0 then '.' || task else '' end
    from (select b'00' || ('x' || translate(job::text, '-', ''))::bit(128) as bits) b, generate_series(0, 25) i
$$;
select is_empty($$select u from (select md5(n::text)::uuid as u, n from generate_series(1, 3000) n) r
    where helio.job_text(u, n % 50 - 1) is distinct from pg_temp.slowly(u, n % 50 - 1)$$, 'the same digits as one by one');
select is(helio.job_text(null, 1), null, 'no id, no text');
select is(helio.job_text('00000000-0000-0000-0000-000000000020', null), null, 'no task, no text');
select is(helio.job_text('00000000-0000-0000-0000-000000000020', -1), repeat('0', 24) || '10', 'no index is no array');

insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source, tasks, id_text)
select ('0199aabb-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, now(), 1, 1, 8, 1, 1, 1, case i % 2 when 0 then 'jt-a' else 'jt-b' end,
    'standard', 'h', 's', case when i <= 4 then array[0, 7, 2147483647] end,
    -- as a broker writes it, and as one of the release before
    case when i % 3 > 0 then helio.job_text(('0199aabb-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, -1) else '' end
from generate_series(1, 5000) i;
insert into helio.readers (reader, tenant) values ('pgtap_job_text', 'jt-a');
create role pgtap_job_text;
grant usage on schema helio_report to pgtap_job_text;
grant select on all tables in schema helio_report to pgtap_job_text;
analyze helio.jobs;

select results_eq($$select job_id from helio_report.jobs where tenant in ('jt-a', 'jt-b') order by 1$$,
    $$select pg_temp.slowly(j.job_id, t) from helio.jobs j, unnest(coalesce(j.tasks, '{-1}')) t where tenant in ('jt-a', 'jt-b') order by 1$$,
    'every job and every task is there once');

create function pg_temp.plan_of(condition text) returns text language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (format json, costs off) select * from helio_report.jobs where ' || condition into plan;
    return plan::text;
end
$$;
create temporary table asked as
select helio.job_text(('0199aabb-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, task) as id, i, task, found
from (values (4000, -1, 1), (4001, -1, 0), (4002, -1, 1), (2, 7, 1), (2, 8, 0), (2, -1, 0), (3, 7, 0), (4000, 0, 0)) v (i, task, found);
grant select on asked to pgtap_job_text;
select is(count(j.job_id), 1::bigint, 'the operator finds ' || a.id)
from asked a left join helio_report.jobs j on j.job_id = a.id where a.found = 1 or (a.i, a.task) in ((4001, -1), (3, 7)) group by a.id;

set local role pgtap_job_text;
select is((select count(*) from helio_report.jobs j where j.job_id = a.id), a.found::bigint, format('a reader of its tenant: job %s, task %s', i, task))
from asked a;
select ok(pg_temp.plan_of($$job_id = '01k6nbp0000e008000000001z8'$$) ~ '"Index Name": "jobs_text".*"Index Cond": "\(\(id_text.*helio\.job_text',
    'the condition of a tenant''s reader reaches the index');
set local enable_seqscan = off;
select ok(pg_temp.plan_of($$job_id >= '01k6nbp' and job_id < '01k6nbq'$$) !~ '"Index Cond": "[^"]*helio\.job_text',
    'a comparison does not: what an index finds before the check of tenants, a reader can count');
reset enable_seqscan;
reset role;
select ok(pg_temp.plan_of($$job_id = '01k6nbp0000e008000000001z8'$$) ~ '"Index Name": "jobs_text".*"Index Cond": "\(\(id_text.*helio\.job_text',
    'the condition of the operator reaches the index');
select ok(pg_temp.plan_of($$job_id = '01k6nbp0000e008000000001z8'$$) ~ '"Index Name": "jobs_arrays(_submitted_at)?"', 'and of the rest only arrays are read');

select * from finish();
rollback;
