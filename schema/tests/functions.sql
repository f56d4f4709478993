-- Ids and times as people see them.
begin;
select no_plan();

select is(helio.job_text('00000000-0000-0000-0000-000000000000', -1), repeat('0', 26), 'the smallest id');
select is(helio.job_text('ffffffff-ffff-ffff-ffff-ffffffffffff', 7), '7' || repeat('z', 25) || '.7', 'the largest, a task');
select is(helio.job_uuid(helio.job_text(u, -1)), u, 'there and back')
from (select gen_random_uuid() as u from generate_series(1, 100)) r;
select is(helio.job_uuid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'), 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, 'capitals');
select is(helio.job_uuid(translate(repeat('0', 25) || '1', '01', 'oL')), '00000000-0000-0000-0000-000000000001'::uuid, 'o and L');
select is(helio.job_uuid(id), null, 'no id: ' || id)
from unnest(array ['', 'x', repeat('8', 26), repeat('0', 27), repeat('0', 25) || 'u', repeat('0', 25) || '!']) id;
select is(helio.job_task(id), task, 'the task of ' || id)
from (values ('abc', -1), ('abc.5', 5), ('abc.', -1), ('abc.x', -1), ('abc.9999999999', -1)) t (id, task);
select is(helio.id_tail(u), helio.id_tail(('00000000-0000-0000-0000-0000' || right(u::text, 8))::uuid), 'a tail is the last 30 bits')
from (select gen_random_uuid() as u) r;

select is(helio.ms_time(0), null, 'no time');
select is(helio.time_ms(helio.ms_time(1795000000123)), 1795000000123, 'milliseconds are kept');
select is(helio.time_ms(null), 0::bigint, 'null is 0');
select is(helio.rfc3339('2026-11-22 07:00:00.5+01'), '2026-11-22T06:00:00.500Z', 'UTC, to the millisecond');

select is(helio.duration_stem(name), stem, 'whose runs: ' || name)
from (values ('finetune', 'finetune'), ('finetune-17', 'finetune'), ('llama-7b-ft-3', 'llama-#b-ft'), ('sweep[12]', 'sweep'),
    ('lr0.001-train', 'lr#.#-train'), ('train-3fa85f64', 'train'), ('3fa85f64-train', '#-train'), ('deadbeefed', 'deadbeefed'),
    ('train-cafe12', 'train-cafe'), ('2026-11-21', ''), ('---', '')) t (name, stem);
select is(helio.duration_of(2, 'a', 'ada', 0::smallint) || helio.duration_of(3, 'a', 'ada', 3::smallint), 'adasweep', 'or a user, or a kind');
select is(helio.duration_basis_word(1) || helio.duration_basis_word(2) || helio.duration_basis_word(3), 'nameuserkind', 'and on what basis');

select is((select count(*) from helio.find_jobs(repeat('0', 5), null)), 0::bigint, 'five characters find nothing');
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select ('0199aaaa-0000-7000-8000-0000000' || lpad(i::text, 5, '0'))::uuid, now(), 1, 1, 1, 1, 1, 1,
    case when i % 2 = 0 then 'even' else 'odd' end, 'standard', 'h', 's' from generate_series(1, 20) i;
update helio.federation set open_from = '0199aaaa-0000-7000-8000-000000000007';
insert into helio.job_tails select helio.id_tail(job_id), job_id from helio.jobs where tenant = 'even';
select is((select count(*) from helio.find_jobs(left(helio.job_text('0199aaaa-0000-7000-8000-000000000001', -1), 8), null)),
    11::bigint, 'a prefix of too many finds enough to say so');
select results_eq(format('select helio.find_jobs(%L, null)', right(helio.job_text('0199aaaa-0000-7000-8000-000000000007', -1), 6)),
    array ['0199aaaa-0000-7000-8000-000000000007'::uuid], 'a suffix finds the one that is open');
select results_eq(format('select helio.find_jobs(%L, null)', right(helio.job_text('0199aaaa-0000-7000-8000-000000000006', -1), 8)),
    array ['0199aaaa-0000-7000-8000-000000000006'::uuid], 'and the one that is over');
select is(helio.id_tail('ffffffff-ffff-ffff-ffff-ffffffffffff'), 1073741823, 'a tail has 30 bits');
select is_empty(format('select helio.find_jobs(%L, %L)', helio.job_text('0199aaaa-0000-7000-8000-000000000007', -1), 'even'),
    'not for another tenant');

select is((select string_agg(v.at, ' ' order by v.at) from unnest(array ['10:00:00', '10:00:00.000001', '10:12:59', '10:13:00', '10:13:00.000001', '10:14:59.999999',
    '10:15:00', '10:15:00.000001', '23:58:30', '23:59:59']) v (at) where helio.ends_quarter(('2026-03-01 ' || v.at || '+05:30')::timestamptz)),
    '10:00:00 10:13:00.000001 10:14:59.999999 10:15:00 23:58:30 23:59:59', 'the last two minutes of each quarter of an hour, the end with them');

select is(helio.feed_state_word(s::smallint), word, 'the state ' || coalesce(s::text, 'that was not reported') || ' of a feed')
from (values (1, 'current'), (2, 'last_good'), (3, 'no_data'), (0, null), (4, null), (null, null)) v (s, word);
select is(helio.source_text('grid', s::smallint, '2026-11-20 08:59:59+02'), shown, 'the source of a feed: ' || shown)
from (values (null, 'grid'), (1, 'grid'), (2, 'grid, last good 2026-11-20T06Z'), (3, 'grid, no data since 2026-11-20T06Z')) v (s, shown);
select is(helio.source_text('grid', 3::smallint, null), 'grid', 'a time that is not known is not shown');
select is(helio.source_text(null, 2::smallint, now()), null, 'a source without a name has no text');

select * from finish();
rollback;
