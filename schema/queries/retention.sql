-- Retention (broker/store/retention.c): each statement deletes some rows of one kind and returns how many. $1 the time (Unix, ms)
-- before which rows are deleted, $2 rows at most; and one that samples what waits. What an open job, the ledger, the audit or a report by days needs stays.

-- name: retention_leads
-- $1 the name that a broker leads by. 1: it does; what time it is here; when retention ran last, 0 = never.
select coalesce(f.holder = $1::text, false)::integer, helio.time_ms(now()),
    coalesce((select helio.time_ms(max(r.ran_at)) from helio.retention r), 0)
from helio.federation f

-- name: retention_compact
-- Settles $1 jobs at most (0027_settled.sql). Returns how many jobs the mark of settled jobs has passed.
select helio.settle(greatest($1::int4, 2))

-- name: retention_roll_up
-- Sums up the hours that are over, and those with late rows, $1 at most (schema/report/12_hours.sql). Returns how many.
select helio.roll_up(greatest($1::int4, 1))

-- name: retention_samples
-- Whole hours of the pool with the oldest sample; their sums stay.
with oldest as materialized (
    select p.site, p.pool, helio.utc_hour(m.at) as since
    from helio.pools p
    cross join lateral (select c.at from helio.capacity_samples c where c.site = p.site and c.pool = p.pool order by c.at limit 1) m
    order by m.at limit 1
), span as materialized (
    select o.site, o.pool, o.since,
        least(helio.utc_hour(helio.ms_at($1::int8)), o.since + make_interval(hours => greatest($2::int4 / 60, 1))) as until
    from oldest o
), gone as (
    delete from helio.capacity_samples c using span s
    where c.site = s.site and c.pool = s.pool and c.at >= s.since and c.at < s.until
    returning c.site, c.pool, c.at, c.gpus_allocated, c.gpus_total
), rolled as (
    insert into helio.utilization as u (site, pool, hour, gpus_allocated, gpus_total)
    select g.site, g.pool, helio.utc_hour(g.at), sum(g.gpus_allocated), sum(g.gpus_total) from gone g group by 1, 2, 3
    on conflict (site, pool, hour) do update set gpus_allocated = u.gpus_allocated + excluded.gpus_allocated,
        gpus_total = u.gpus_total + excluded.gpus_total
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at)
    select 'samples', (select count(*) from gone), (select o.since from oldest o), now()
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = excluded.oldest_at, ran_at = excluded.ran_at
)
select count(*) from gone

-- name: retention_waiting
with gone as (
    delete from helio.waiting_samples w
    using (select o.at, o.tenant, o.queue, o.reason from helio.waiting_samples o
           where o.at < helio.ms_at($1::int8) order by o.at limit $2::int4) o
    where (w.at, w.tenant, w.queue, w.reason) = (o.at, o.tenant, o.queue, o.reason)
    returning 1
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at)
    select 'waiting', (select count(*) from gone), (select w.at from helio.waiting_samples w order by w.at limit 1), now()
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = excluded.oldest_at, ran_at = excluded.ran_at
)
select count(*) from gone

-- name: retention_sample_waiting
-- Counts the tasks that wait, unless that was done less than four minutes ago: the leader before this one may have. At most a thousand
-- groups a sample, the largest ones, so that a year has a bound; a federation has some dozens.
insert into helio.waiting_samples (at, tenant, queue, reason, tasks, gpus)
select now(), t.tenant, t.queue, t.reason, t.tasks, t.gpus
from helio.waiting_now t
where not exists (select from helio.waiting_samples w where w.at > now() - interval '4 minutes')
order by 5 desc, 2, 3, 4
limit 1000
on conflict do nothing

-- name: retention_forecasts
-- What holds is in series_now, and stays.
with ends as materialized (
    select n.site, n.signal, f.issued_at
    from (select distinct s.site, s.signal from helio.series_now s) n
    cross join lateral (select s.issued_at from helio.series s where s.site = n.site and s.signal = n.signal
                        order by s.issued_at limit 1) f
    order by f.issued_at limit 1
), gone as (
    delete from helio.series s
    using (select o.site, o.signal, o.issued_at, o.pool, o.kind
           from helio.series o join ends e on o.site = e.site and o.signal = e.signal
           where o.issued_at < helio.ms_at($1::int8)
           order by o.site, o.signal, o.issued_at limit $2::int4) o
    where (s.site, s.signal, s.issued_at, s.pool, s.kind) = (o.site, o.signal, o.issued_at, o.pool, o.kind)
    returning 1
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at)
    select 'forecasts', (select count(*) from gone), (select e.issued_at from ends e), now()
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = excluded.oldest_at, ran_at = excluded.ran_at
)
select count(*) from gone

-- name: retention_actuals
with ends as materialized (
    select n.site, n.signal, n.pool, f.hour
    from (select distinct s.site, s.signal, s.pool from helio.series_now s) n
    cross join lateral (select a.hour from helio.actuals a where a.site = n.site and a.signal = n.signal and a.pool = n.pool
                        order by a.hour limit 1) f
    order by f.hour limit 1
), gone as (
    delete from helio.actuals a
    using (select o.site, o.signal, o.pool, o.hour
           from helio.actuals o join ends e on o.site = e.site and o.signal = e.signal and o.pool = e.pool
           where o.hour < helio.ms_at($1::int8)
           order by o.hour limit $2::int4) o
    where (a.site, a.signal, a.pool, a.hour) = (o.site, o.signal, o.pool, o.hour)
    returning 1
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at)
    select 'actuals', (select count(*) from gone), (select e.hour from ends e), now()
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = excluded.oldest_at, ran_at = excluded.ran_at
)
select count(*) from gone

-- name: retention_decisions
-- With their candidates; not those by which a job was placed that is open, and not the newest of a class. These stand before the
-- others, so there are as many more to look at.
with wanted as materialized (
    select p.decision_id
    from helio.open_jobs o join helio.placements p using (job_id)
    where p.at < helio.ms_at($1::int8)
    union
    select c.decision_id from helio.classes c where c.at < helio.ms_at($1::int8) or c.at is null
), first as materialized (
    select d.decision_id, d.at from helio.decisions d
    order by d.decision_id limit $2::int4 / 16 + 1 + (select count(*) from wanted)
), old as materialized (
    select f.decision_id
    from first f
    where f.at < helio.ms_at($1::int8) and not exists (select from wanted w where w.decision_id = f.decision_id)
      and not exists (select from helio.classes c where c.decision_id = f.decision_id)
    order by f.decision_id limit $2::int4 / 16 + 1
), candidates as (
    delete from helio.candidates c using old o where c.decision_id = o.decision_id returning 1
), gone as (
    delete from helio.decisions d using old o where d.decision_id = o.decision_id returning 1
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at)
    select 'decisions', (select count(*) from gone) + (select count(*) from candidates), (select min(f.at) from first f), now()
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = excluded.oldest_at, ran_at = excluded.ran_at
)
select (select count(*) from gone) + (select count(*) from candidates)

-- name: retention_keys
-- Idempotency keys of jobs that were submitted before then and are settled. The jobs stay. How many jobs were passed, how many keys are gone.
with span as materialized (
    select coalesce((select r.passed from helio.retention r where r.what = 'keys'), '00000000-0000-0000-0000-000000000000') as since,
        least(s.mark, (lpad(to_hex(greatest($1::int8, 0)), 12, '0') || repeat('0', 20))::uuid) as until
    from helio.settled s
), next as materialized (
    select j.job_id, j.idempotency_key is not null as keyed, j.submitted_at
    from helio.jobs j
    where j.job_id > (select s.since from span s) and j.job_id < (select s.until from span s)
    order by j.job_id limit $2::int4
), gone as (
    update helio.jobs j set idempotency_key = null
    from next n
    where n.keyed and j.job_id = n.job_id and j.idempotency_key is not null -- another pruner may have been here meanwhile
      and not exists (select from helio.unsettled u where u.job_id = n.job_id)
    returning 1
), noted as (
    insert into helio.retention as r (what, deleted, oldest_at, ran_at, passed)
    select 'keys', (select count(*) from gone), (select max(n.submitted_at) from next n), now(),
        coalesce((select n.job_id from next n order by n.job_id desc limit 1), (select s.since from span s))
    on conflict (what) do update set deleted = r.deleted + excluded.deleted, oldest_at = coalesce(excluded.oldest_at, r.oldest_at),
        ran_at = excluded.ran_at, passed = excluded.passed
)
select (select count(*) from next), (select count(*) from gone)

-- name: retention_preview_samples
select count(*) from helio.capacity_samples c where c.at < helio.utc_hour(helio.ms_at($1::int8)) and $2::int4 > 0

-- name: retention_preview_waiting
select count(*) from helio.waiting_samples w where w.at < helio.ms_at($1::int8) and $2::int4 > 0

-- name: retention_preview_forecasts
select count(*) from helio.series s where s.issued_at < helio.ms_at($1::int8) and $2::int4 > 0

-- name: retention_preview_actuals
select count(*) from helio.actuals a where a.hour < helio.ms_at($1::int8) and $2::int4 > 0

-- name: retention_preview_decisions
-- Those that stay because they are wanted are among them.
select count(*) + (select count(*) from helio.candidates c join helio.decisions d using (decision_id) where d.at < helio.ms_at($1::int8))
from helio.decisions d where d.at < helio.ms_at($1::int8) and $2::int4 > 0

-- name: retention_preview_keys
select count(*) from helio.jobs j where j.idempotency_key is not null and j.submitted_at < helio.ms_at($1::int8) and $2::int4 > 0
