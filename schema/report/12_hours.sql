-- Sums by the hour (migration 0056_hours.sql). For each kind: the view …_raw sums up, from the rows themselves, the hours that are not
-- summed up and those that have a mark; the view …_now has these, and the others from the table. helio.roll_up copies from …_raw, so
-- both say the same.
-- Rows about jobs find what they need of the job by its key, row by row: hours that are read raw are few, and the planner could take them
-- for many. Internal to schema helio: not a stable interface.

create or replace view helio.change_rows as
select helio.utc_hour(t.at) as hour, t.from_state, t.to_state, j.tenant, 1 as changes
from helio.transitions t
cross join lateral (select j.tenant from helio.jobs j where j.job_id = t.job_id offset 0) j
where t.from_state <> t.to_state
union all
select helio.utc_hour(j.submitted_at), (-1)::smallint, 0::smallint, j.tenant, coalesce(cardinality(j.tasks), 1)
from helio.jobs j;

create or replace view helio.change_hours_raw as
select u.hour, u.tenant, u.from_state, u.to_state, sum(u.changes) as changes
from (select r.* from helio.change_rows r where r.hour >= (select helio.rolled_to())
      union all
      select r.* from helio.change_rows r where r.hour = any ((select helio.stale(0::smallint))::timestamptz[])) u
group by 1, 2, 3, 4;

create or replace view helio.change_hours_now as
select h.hour, h.tenant, h.from_state, h.to_state, h.changes
from helio.change_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 0 and s.hour = h.hour)
union all
select r.hour, r.tenant, r.from_state, r.to_state, r.changes::bigint from helio.change_hours_raw r;

create or replace view helio.placement_rows as
select helio.utc_hour(p.at) as hour, p.site, p.decision_id, j.tenant, p.gpus, p.planned_cost_micro_usd, p.planned_energy_j, p.planned_carbon_mg
from helio.placements p
cross join lateral (select j.tenant from helio.jobs j where j.job_id = p.job_id offset 0) j;

create or replace view helio.placement_rows_raw as
select r.* from helio.placement_rows r where r.hour >= (select helio.rolled_to())
union all
select r.* from helio.placement_rows r where r.hour = any ((select helio.stale(1::smallint))::timestamptz[]);

create or replace view helio.placement_hours_raw as
select u.hour, u.tenant, u.site, count(*) as placements, helio.bounded(sum(u.gpus)) as gpus,
    helio.bounded(sum(u.planned_cost_micro_usd)) as planned_cost_micro_usd, helio.bounded(sum(u.planned_energy_j)) as planned_energy_j,
    helio.bounded(sum(u.planned_carbon_mg)) as planned_carbon_mg
from helio.placement_rows_raw u
group by 1, 2, 3;

create or replace view helio.placement_hours_now as
select h.hour, h.tenant, h.site, h.placements, h.gpus, h.planned_cost_micro_usd, h.planned_energy_j, h.planned_carbon_mg
from helio.placement_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 1 and s.hour = h.hour)
union all
select r.hour, r.tenant, r.site, r.placements, r.gpus, r.planned_cost_micro_usd, r.planned_energy_j, r.planned_carbon_mg
from helio.placement_hours_raw r;

create or replace view helio.candidate_hours_raw as
select u.hour, u.tenant, c.site, c.rejected_reason, count(*) as candidates, sum(c.score_usd) as score_usd
from helio.placement_rows_raw u
cross join lateral (
    select k.site, coalesce(k.rejected_reason, '') as rejected_reason, k.score_micro_usd / 1000000.0::float8 as score_usd
    from helio.candidates k where k.decision_id = u.decision_id
    offset 0
) c
group by 1, 2, 3, 4;

-- Decisions that retention has deleted are in the sums still.
create or replace view helio.candidate_hours_now as
select h.hour, h.tenant, h.site, h.rejected_reason, h.candidates, h.score_usd
from helio.candidate_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 1 and s.hour = h.hour)
union all
select r.hour, r.tenant, r.site, r.rejected_reason, r.candidates, r.score_usd from helio.candidate_hours_raw r;

-- Jobs that ended are found by their last attempt, which has an index on the hour; open jobs by their state.
create or replace view helio.start_rows as
select helio.utc_hour(a.started_at) as hour, a.job_id, a.started_at
from helio.attempts a
cross join lateral (
    select from helio.job_state s
    where s.job_id = a.job_id and s.task = a.task and (s.epoch = a.epoch or s.started_at = a.started_at) and helio.state_is_over(s.state)
    offset 0
) s
where a.started_at is not null;

create or replace view helio.wait_hours_raw as
select b.hour, coalesce(e.queue, j.queue) as queue, j.tenant, count(*) as jobs,
    percentile_cont(0.5) within group (order by helio.seconds_between(j.submitted_at, b.started_at)) as wait_p50,
    percentile_cont(0.95) within group (order by helio.seconds_between(j.submitted_at, b.started_at)) as wait_p95
from (
    select r.* from helio.start_rows r where r.hour >= (select helio.rolled_to())
    union all
    select r.* from helio.start_rows r where r.hour = any ((select helio.stale(2::smallint))::timestamptz[])
    union all
    select helio.utc_hour(s.started_at), s.job_id, s.started_at
    from helio.state_maybe_open s
    where s.started_at is not null and not helio.state_is_over(s.state)
      and (helio.utc_hour(s.started_at) >= (select helio.rolled_to())
           or helio.utc_hour(s.started_at) = any ((select helio.stale(2::smallint))::timestamptz[]))
) b
cross join lateral (select j.queue, j.tenant, j.submitted_at from helio.jobs j where j.job_id = b.job_id offset 0) j
left join lateral (select e.queue from helio.edits e where e.job_id = b.job_id offset 0) e on true
group by 1, 2, 3;

create or replace view helio.wait_hours_now as
select h.hour, h.queue, h.tenant, h.jobs, h.wait_p50, h.wait_p95
from helio.wait_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 2 and s.hour = h.hour)
union all
select r.hour, r.queue, r.tenant, r.jobs, r.wait_p50, r.wait_p95 from helio.wait_hours_raw r;

-- Hours of samples that are read raw, among them a day to come: the clock of a broker can be ahead of the database's.
create or replace view helio.sample_hours_raw as
select h.hour
from (select helio.utc_hour(now()) + interval '1 day' as until) n
cross join lateral generate_series((select helio.rolled_to()), n.until, interval '1 hour') as h (hour)
union all
select h.hour from unnest((select helio.stale(3::smallint))::timestamptz[]) as h (hour);

-- Hour by hour and pool by pool, each a stretch of the key. A condition on the site alone would make the planner read all samples of the site by the
-- key, in which the pool comes before the time. Every sample is of a row of helio.pools, of which none is ever deleted.
create or replace view helio.sample_rows_raw as
select r.hour, p.site, p.pool, c.at, c.nodes_up, c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved, c.largest_block_gpus, c.jobs_running,
    c.jobs_queued, c.site_power_w
from helio.sample_hours_raw r
cross join helio.pools p
cross join lateral (
    select c.* from helio.capacity_samples c
    where c.site = p.site and c.pool = p.pool and c.at >= r.hour and c.at < r.hour + interval '1 hour'
    offset 0
) c;

create or replace view helio.capacity_hours_raw as
select c.hour, c.site, c.pool, count(*) as samples, sum(c.gpus_total) as gpus_total, sum(c.gpus_allocated) as gpus_allocated,
    sum(c.gpus_free) as gpus_free, sum(c.gpus_reserved) as gpus_reserved, sum(c.nodes_up) as nodes_up, sum(c.jobs_running) as jobs_running,
    sum(c.jobs_queued) as jobs_queued, min(c.largest_block_gpus) as largest_block_gpus
from helio.sample_rows_raw c
group by 1, 2, 3;

create or replace view helio.capacity_hours_now as
select h.hour, h.site, h.pool, h.samples, h.gpus_total, h.gpus_allocated, h.gpus_free, h.gpus_reserved, h.nodes_up, h.jobs_running,
    h.jobs_queued, h.largest_block_gpus
from helio.capacity_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 3 and s.hour = h.hour)
union all
select r.hour, r.site, r.pool, r.samples, r.gpus_total, r.gpus_allocated, r.gpus_free, r.gpus_reserved, r.nodes_up, r.jobs_running,
    r.jobs_queued, r.largest_block_gpus
from helio.capacity_hours_raw r;

-- The power of a site is in the rows of each of its pools.
create or replace view helio.power_hours_raw as
select m.hour, m.site, count(*) as samples, avg(nullif(m.power_w, -1)) as power_w
from (select c.hour, c.site, c.at, max(c.site_power_w) as power_w from helio.sample_rows_raw c group by 1, 2, 3) m
group by 1, 2;

create or replace view helio.power_hours_now as
select h.hour, h.site, h.samples, h.power_w
from helio.power_hours h
where h.hour < (select helio.rolled_to()) and not exists (select from helio.stale_hours s where s.what = 3 and s.hour = h.hour)
union all
select r.hour, r.site, r.samples, r.power_w from helio.power_hours_raw r;

create or replace view helio.duration_rows as
select helio.utc_day(a.ended_at) as day, j.tenant, j.expected_basis as basis, a.run_ms::float8 / p.expected_ms as ratio,
    a.run_ms <= p.expected_high_ms as within
from helio.attempts a
cross join lateral (
    select from helio.job_state s where s.job_id = a.job_id and s.task = a.task and s.state in (8, 10) offset 0
) s
cross join lateral (
    select j.tenant, j.expected_basis from helio.jobs j where j.job_id = a.job_id and j.expected_basis is not null offset 0
) j
cross join lateral (
    select p.expected_ms, p.expected_high_ms from helio.placements p
    where p.job_id = a.job_id and p.task = a.task and p.epoch = 1 and p.expected_ms > 0
    offset 0
) p
where a.epoch = 1 and a.completes and a.run_ms > 0;

create or replace view helio.duration_days_raw as
select u.day, u.tenant, u.basis, count(*) as runs, percentile_cont(0.5) within group (order by u.ratio) as median_ratio,
    (count(*) filter (where u.within))::float8 / count(*) as within_ratio
from (select r.* from helio.duration_rows r where r.day >= helio.utc_day((select helio.rolled_to()))
      union all
      select r.* from helio.duration_rows r where r.day = any ((select helio.stale(4::smallint))::timestamptz[])
          and r.day < helio.utc_day((select helio.rolled_to()))) u
group by 1, 2, 3;

create or replace view helio.duration_days_now as
select d.day, d.tenant, d.basis, d.runs, d.median_ratio, d.within_ratio
from helio.duration_days d
where d.day < helio.utc_day((select helio.rolled_to())) and not exists (select from helio.stale_hours s where s.what = 4 and s.hour = d.day)
union all
select r.day, r.tenant, r.basis, r.runs, r.median_ratio, r.within_ratio from helio.duration_days_raw r;

-- Compacted tasks by the hour of their submission, and those that are not compacted (as in helio.totals_now). These are read by the key, and the
-- hour is compared afterwards: the index on the hour leads to pages of both, of which each row would be asked whether it is compacted.
create or replace view helio.job_hours_now as
select h.hour, h.tenant, h.queue, h.state, h.reason, h.jobs, h.gpu_ms from helio.job_hours h
union all
select helio.utc_hour(j.submitted_at), j.tenant, coalesce(e.queue, j.queue), coalesce(s.state, 0::smallint), coalesce(s.details->0->>'code', ''),
    1, coalesce(s.gpu_ms, 0)
from helio.unsettled u join helio.jobs j using (job_id)
cross join lateral unnest(coalesce(j.tasks, '{-1}'::integer[])) as t (task)
left join helio.job_state s on s.job_id = j.job_id and s.task = t.task
left join helio.edits e on e.job_id = j.job_id
where t.task between -1 and 2147483647 -- every task; with it the planner expects one task per job instead of ten
union all
select helio.utc_hour(j.submitted_at), j.tenant, coalesce(e.queue, j.queue), coalesce(s.state, 0::smallint), coalesce(s.details->0->>'code', ''),
    1, coalesce(s.gpu_ms, 0)
from (select n.job_id, n.submitted_at, n.tenant, n.queue, n.tasks from helio.jobs n where n.job_id >= helio.settled_to() offset 0) j
cross join lateral unnest(coalesce(j.tasks, '{-1}'::integer[])) as t (task)
left join (select n.job_id, n.task, n.state, n.details, n.gpu_ms from helio.job_state n where n.job_id >= helio.settled_to() offset 0) s
    on s.job_id = j.job_id and s.task = t.task
left join helio.edits e on e.job_id = j.job_id
where t.task between -1 and 2147483647;

-- ---- summing up -------------------------------------------------------------------------------------------

-- The tables of the hours from `since` to `until`, from what the views read of them raw. Of hours whose rows retention has deleted what there is stays.
create or replace function helio.roll_changes(since timestamptz, until timestamptz) returns void language sql
    begin atomic
        delete from helio.change_hours h where h.hour >= since and h.hour < until;
        insert into helio.change_hours (hour, tenant, from_state, to_state, changes)
        select r.hour, r.tenant, r.from_state, r.to_state, r.changes from helio.change_hours_raw r where r.hour >= since and r.hour < until;
    end;

create or replace function helio.roll_placements(since timestamptz, until timestamptz) returns void language sql
    begin atomic
        delete from helio.placement_hours h where h.hour >= since and h.hour < until;
        insert into helio.placement_hours (hour, tenant, site, placements, gpus, planned_cost_micro_usd, planned_energy_j, planned_carbon_mg)
        select r.hour, r.tenant, r.site, r.placements, r.gpus, r.planned_cost_micro_usd, r.planned_energy_j, r.planned_carbon_mg
        from helio.placement_hours_raw r where r.hour >= since and r.hour < until;
        delete from helio.candidate_hours h
        where h.hour >= since and h.hour < until
          and coalesce(h.hour > (select t.oldest_at from helio.retention t where t.what = 'decisions'), true);
        insert into helio.candidate_hours (hour, tenant, site, rejected_reason, candidates, score_usd)
        select r.hour, r.tenant, r.site, r.rejected_reason, r.candidates, r.score_usd
        from helio.candidate_hours_raw r where r.hour >= since and r.hour < until
        on conflict do nothing;
    end;

create or replace function helio.roll_waits(since timestamptz, until timestamptz) returns void language sql
    begin atomic
        delete from helio.wait_hours h where h.hour >= since and h.hour < until;
        insert into helio.wait_hours (hour, queue, tenant, jobs, wait_p50, wait_p95)
        select r.hour, r.queue, r.tenant, r.jobs, r.wait_p50, r.wait_p95 from helio.wait_hours_raw r where r.hour >= since and r.hour < until;
    end;

create or replace function helio.roll_samples(since timestamptz, until timestamptz) returns void language sql
    begin atomic
        delete from helio.capacity_hours h
        where h.hour >= since and h.hour < until
          and exists (select from helio.capacity_samples c where c.site = h.site and c.pool = h.pool and c.at >= h.hour
                          and c.at < h.hour + interval '1 hour'
                      having count(*) >= h.samples);
        insert into helio.capacity_hours (hour, site, pool, samples, gpus_total, gpus_allocated, gpus_free, gpus_reserved, nodes_up,
            jobs_running, jobs_queued, largest_block_gpus)
        select r.hour, r.site, r.pool, r.samples, r.gpus_total, r.gpus_allocated, r.gpus_free, r.gpus_reserved, r.nodes_up, r.jobs_running,
            r.jobs_queued, r.largest_block_gpus
        from helio.capacity_hours_raw r where r.hour >= since and r.hour < until
        on conflict do nothing;
        insert into helio.power_hours as h (hour, site, samples, power_w)
        select r.hour, r.site, r.samples, r.power_w from helio.power_hours_raw r where r.hour >= since and r.hour < until
        on conflict (hour, site) do update set samples = excluded.samples, power_w = excluded.power_w where excluded.samples >= h.samples;
    end;

create or replace function helio.roll_durations(since timestamptz, until timestamptz) returns void language sql
    begin atomic
        delete from helio.duration_days d where d.day >= since and d.day < until;
        insert into helio.duration_days (day, tenant, basis, runs, median_ratio, within_ratio)
        select r.day, r.tenant, r.basis, r.runs, r.median_ratio, r.within_ratio
        from helio.duration_days_raw r where r.day >= since and r.day < until;
    end;

-- One kind, of one stretch.
create or replace function helio.roll(what smallint, since timestamptz, until timestamptz) returns void language plpgsql
    as $$
begin
    case what
        when 0 then perform helio.roll_changes(since, until);
        when 1 then perform helio.roll_placements(since, until);
        when 2 then perform helio.roll_waits(since, until);
        when 3 then perform helio.roll_samples(since, until);
        else perform helio.roll_durations(since, until);
    end case;
end
$$;

-- Takes one step, and returns how many hours it summed up; 0: nothing is left to do, or open transactions have to end first. An hour is
-- announced ten minutes after its end (`late`), so that few rows come later. Marked hours: a mark that is there before the rows are read
-- is done with them; one that comes meanwhile stays, and its hour is read again.
create or replace function helio.roll_up(most integer, late interval default '10 minutes') returns integer language plpgsql
    as $$
declare
    at helio.rolled;
    until timestamptz := helio.utc_hour(now() - late);
    stale record;
    hours integer := 0;
begin
    select * into at from helio.rolled r for update;
    if at.announced_to = at.rolled_to and at.announced_to < until then
        update helio.rolled set announced_to = until, announced_by = null;
        return 1;
    elsif at.announced_to > at.rolled_to and (at.announced_by is null or at.announced_by > pg_current_xact_id()) then
        update helio.rolled set announced_by = pg_current_xact_id(); -- later than any of a restored database
        return 1;
    elsif at.announced_to > at.rolled_to and pg_snapshot_xmin(pg_current_snapshot()) >= at.announced_by then
        until := least(at.announced_to, at.rolled_to + most * interval '1 hour');
        for kind in 0..3 loop
            perform helio.roll(kind::smallint, at.rolled_to, until);
        end loop;
        if helio.utc_day(until) > helio.utc_day(at.rolled_to) then
            perform helio.roll(4::smallint, helio.utc_day(at.rolled_to), helio.utc_day(until));
        end if;
        update helio.rolled set rolled_to = until;
        return most;
    end if;
    for stale in
        select s.what, s.hour, array_agg(s.ctid) as marks
        from helio.stale_hours s
        where s.hour < at.rolled_to
        group by s.what, s.hour order by s.hour desc, s.what
        limit most
    loop
        perform helio.roll(stale.what, stale.hour, stale.hour + case stale.what when 4 then interval '24 hours' else interval '1 hour' end);
        delete from helio.stale_hours s where s.ctid = any (stale.marks);
        hours := hours + 1;
    end loop;
    return hours;
end
$$;
