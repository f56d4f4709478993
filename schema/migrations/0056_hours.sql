-- Sums by the hour, so that a board of a month does not read every job, attempt and change of state of the month.
--
-- Three kinds of tables:
--   ledger_hours   a trigger adds each row of the ledger, in the transaction that writes it, as in usage_hours.
--   job_hours      a job is added when it is compacted (helio.settle), once.
--   the others     helio.roll_up (schema/report/12_hours.sql) sums an hour up when it is over. A row that is written later for such an hour
--                  leaves a mark in stale_hours, in its own transaction. The views read marked hours, and hours that are not yet summed up,
--                  from the rows themselves. helio.roll_up sums marked hours up anew.

-- Which hours are summed up. A mark must not be missed: a writer that read the old announced_to while the hour was being summed up would leave
-- none. So announced_to moves first. The hours before it are summed up when every transaction has ended that can have begun before the
-- announcement was committed: those with a smaller id than announced_by, that of a transaction that began after it.
create table helio.rolled (
    one          boolean primary key default true check (one),
    rolled_to    timestamptz not null,
    announced_to timestamptz not null,
    announced_by xid8,
    check (rolled_to <= announced_to)
);
comment on column helio.rolled.rolled_to is 'Hours before this are summed up.';
comment on column helio.rolled.announced_to is 'Rows that are written for hours before this leave a mark.';
comment on column helio.rolled.announced_by is 'Transactions from this one on have read announced_to; null: not known yet.';
insert into helio.rolled (rolled_to, announced_to)
select f.since, f.since
from (select helio.utc_hour(least(now(), (select j.submitted_at - interval '2 days' from helio.jobs j order by j.job_id limit 1),
          (select min(o.at) from helio.pools p cross join lateral
              (select c.at from helio.capacity_samples c where c.site = p.site and c.pool = p.pool order by c.at limit 1) o))) as since) f;

-- what: 0 changes, 1 placements, 2 waits, 3 samples, 4 run times by the day.
create table helio.stale_hours (
    hour timestamptz not null,
    what smallint not null check (what between 0 and 4)
);
comment on table helio.stale_hours is 'Hours with rows that were written after the hour was summed up; one row for each statement and hour.';

-- ---- the sums ---------------------------------------------------------------------------------------------

-- from_state -1: submissions.
create table helio.change_hours (
    hour       timestamptz not null,
    changes    bigint not null,
    from_state smallint not null,
    to_state   smallint not null,
    tenant     text not null,
    primary key (hour, tenant, from_state, to_state)
);

create table helio.placement_hours (
    hour                   timestamptz not null,
    placements             bigint not null,
    gpus                   bigint not null,
    planned_cost_micro_usd bigint not null,
    planned_energy_j       bigint not null,
    planned_carbon_mg      bigint not null,
    tenant                 text not null,
    site                   text not null,
    primary key (hour, tenant, site)
);

create table helio.candidate_hours (
    hour            timestamptz not null,
    candidates      bigint not null,
    score_usd       double precision not null,
    tenant          text not null,
    site            text not null,
    rejected_reason text not null,
    primary key (hour, tenant, site, rejected_reason)
);
comment on column helio.candidate_hours.score_usd is 'The sum of the scores.';
comment on column helio.candidate_hours.rejected_reason is 'empty: not rejected';

create table helio.wait_hours (
    hour     timestamptz not null,
    jobs     bigint not null,
    wait_p50 double precision,
    wait_p95 double precision,
    queue    text not null,
    tenant   text not null,
    primary key (hour, queue, tenant)
);

create table helio.capacity_hours (
    hour               timestamptz not null,
    samples            bigint not null,
    gpus_total         bigint not null,
    gpus_allocated     bigint not null,
    gpus_free          bigint not null,
    gpus_reserved      bigint not null,
    nodes_up           bigint not null,
    jobs_running       bigint not null,
    jobs_queued        bigint not null,
    largest_block_gpus integer not null,
    site               text not null,
    pool               text not null,
    primary key (hour, site, pool)
);
comment on table helio.capacity_hours is 'Sums over the samples; largest_block_gpus is the least of them.';

create table helio.power_hours (
    hour    timestamptz not null,
    samples bigint not null,
    power_w double precision,
    site    text not null,
    primary key (hour, site)
);
comment on column helio.power_hours.power_w is 'The mean over the minutes of which it is known.';

create table helio.duration_days (
    day          timestamptz not null,
    runs         bigint not null,
    median_ratio double precision not null,
    within_ratio double precision not null,
    basis        smallint not null,
    tenant       text not null,
    primary key (day, tenant, basis)
);

create table helio.ledger_hours (
    hour           timestamptz not null,
    gpu_ms         bigint not null,
    energy_j       bigint not null,
    carbon_mg      bigint not null,
    cost_micro_usd bigint not null,
    tenant         text not null,
    site           text not null,
    price_source   text not null,
    primary key (hour, tenant, site, price_source)
) with (fillfactor = 70);
comment on column helio.ledger_hours.price_source is 'empty: not known';

create table helio.job_hours (
    hour     timestamptz not null,
    jobs     bigint not null,
    gpu_ms   numeric not null,
    state    smallint not null,
    tenant   text not null,
    queue    text not null,
    reason   text not null,
    primary key (hour, tenant, queue, state, reason)
) with (fillfactor = 70);
comment on table helio.job_hours is 'Tasks of compacted jobs, by the hour of their submission.';
comment on column helio.job_hours.reason is 'The code of the first detail; empty: none.';

-- An hour is found in the rows by the same expression in every view.
create index transitions_hour on helio.transitions using brin (helio.utc_hour(at)) with (autosummarize = on);
create index placements_hour on helio.placements using brin (helio.utc_hour(at)) with (autosummarize = on);
create index jobs_hour on helio.jobs using brin (helio.utc_hour(submitted_at)) with (autosummarize = on);

-- For views, whose readers have no right to look themselves.
create function helio.rolled_to() returns timestamptz language sql stable parallel safe security definer set search_path = pg_catalog
    return (select r.rolled_to from helio.rolled r);
create function helio.stale(of smallint) returns timestamptz[] language sql stable parallel safe security definer set search_path = pg_catalog
    return array (select distinct s.hour from helio.stale_hours s where s.what = of and s.hour < (select r.rolled_to from helio.rolled r));

-- ---- marks ------------------------------------------------------------------------------------------------

create function helio.mark_transitions() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 0, helio.utc_hour(w.at) from written w, helio.rolled r where w.at < r.announced_to;
    return null;
end
$$;

create function helio.mark_submissions() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 0, helio.utc_hour(w.submitted_at) from written w, helio.rolled r where w.submitted_at < r.announced_to;
    return null;
end
$$;

create function helio.mark_placements() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 1, helio.utc_hour(w.at) from written w, helio.rolled r where w.at < r.announced_to;
    return null;
end
$$;

create function helio.mark_samples() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 3, helio.utc_hour(w.at) from written w, helio.rolled r where w.at < r.announced_to;
    return null;
end
$$;

-- Candidates are written with the placements that they are of, or before them.
create function helio.mark_attempts() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 2, helio.utc_hour(w.started_at) from written w, helio.rolled r where w.started_at < r.announced_to
    union
    select 4, helio.utc_day(w.ended_at) from written w, helio.rolled r where w.ended_at < helio.utc_day(r.announced_to);
    return null;
end
$$;

create function helio.mark_corrections() returns trigger language plpgsql as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 2, helio.utc_hour(w.started_at)
    from (select o.started_at from former o union all select n.started_at from written n) w, helio.rolled r
    where w.started_at < r.announced_to
    union
    select 4, helio.utc_day(w.ended_at)
    from (select o.ended_at from former o union all select n.ended_at from written n) w, helio.rolled r
    where w.ended_at < helio.utc_day(r.announced_to);
    return null;
end
$$;

-- A wait counts from the state of a job that is open, and from the attempts of one that is over: when this changes, so do their hours. The
-- two rows of a task are put side by side by a grouping, and not by a join, whose plan would be that of the first batch.
create function helio.mark_new_states() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
    as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 2, helio.utc_hour(w.started_at) from written w, helio.rolled r where w.started_at < r.announced_to
    union
    select m.what, m.hour
    from written w cross join helio.rolled r
    cross join lateral (select a.started_at, a.ended_at from helio.attempts a where a.job_id = w.job_id and a.task = w.task offset 0) a
    cross join lateral (select 2 as what, helio.utc_hour(a.started_at) as hour where a.started_at < r.announced_to
                        union all
                        select 4, helio.utc_day(a.ended_at) where a.ended_at < helio.utc_day(r.announced_to)) m
    where helio.state_is_over(w.state);
    return null;
end
$$;

create function helio.mark_changed_states() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
    as $$
begin
    with changed as materialized (
        select b.job_id, b.task, min(b.started_at) as started_from, max(b.started_at) as started_to, bool_or(helio.state_is_over(b.state)) as over
        from (select o.job_id, o.task, o.epoch, o.state, o.started_at from former o
              union all
              select n.job_id, n.task, n.epoch, n.state, n.started_at from written n) b
        group by b.job_id, b.task
        having min(b.started_at) <> max(b.started_at) or count(b.started_at) = 1
            or bool_or(helio.state_is_over(b.state)) and (min(b.state) <> max(b.state) or min(b.epoch) <> max(b.epoch))
    )
    insert into helio.stale_hours (what, hour)
    select 2, helio.utc_hour(t.at) from changed c, unnest(array [c.started_from, c.started_to]) t (at), helio.rolled r where t.at < r.announced_to
    union
    select m.what, m.hour
    from changed c cross join helio.rolled r
    cross join lateral (select a.started_at, a.ended_at from helio.attempts a where a.job_id = c.job_id and a.task = c.task offset 0) a
    cross join lateral (select 2 as what, helio.utc_hour(a.started_at) as hour where a.started_at < r.announced_to
                        union all
                        select 4, helio.utc_day(a.ended_at) where a.ended_at < helio.utc_day(r.announced_to)) m
    where c.over;
    return null;
end
$$;

-- An edit may give a job that ran already another queue.
create function helio.mark_edits() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
    as $$
begin
    insert into helio.stale_hours (what, hour)
    select distinct 2, helio.utc_hour(t.started_at)
    from written w cross join helio.rolled r
    cross join lateral (
        select a.started_at from helio.attempts a where a.job_id = w.job_id
        union all
        select s.started_at from helio.job_state s where s.job_id = w.job_id
    ) t
    where t.started_at < r.announced_to;
    return null;
end
$$;

-- ---- the ledger by the hour -------------------------------------------------------------------------------

create function helio.add_ledger_hours() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set jit = off
    as $$
begin
    insert into helio.ledger_hours as h (hour, tenant, site, price_source, gpu_ms, energy_j, carbon_mg, cost_micro_usd)
    select w.hour, w.tenant, w.site, coalesce(r.price_source, ''), helio.bounded(sum(w.gpu_ms)), helio.bounded(sum(w.energy_j)),
        helio.bounded(sum(w.carbon_mg)), helio.bounded(sum(w.cost_micro_usd))
    from written w
    left join lateral (select r.price_source from helio.rates r where r.rates_id = w.rates_id offset 0) r on true
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (hour, tenant, site, price_source) do update set gpu_ms = helio.bounded(h.gpu_ms::numeric + excluded.gpu_ms),
        energy_j = helio.bounded(h.energy_j::numeric + excluded.energy_j), carbon_mg = helio.bounded(h.carbon_mg::numeric + excluded.carbon_mg),
        cost_micro_usd = helio.bounded(h.cost_micro_usd::numeric + excluded.cost_micro_usd);
    return null;
end
$$;

create function helio.sum_up_hours() returns void language sql
    begin atomic
        delete from helio.ledger_hours;
        insert into helio.ledger_hours (hour, tenant, site, price_source, gpu_ms, energy_j, carbon_mg, cost_micro_usd)
        select l.hour, l.tenant, l.site, coalesce(r.price_source, ''), helio.bounded(sum(l.gpu_ms)), helio.bounded(sum(l.energy_j)),
            helio.bounded(sum(l.carbon_mg)), helio.bounded(sum(l.cost_micro_usd))
        from helio.ledger l left join helio.rates r on r.rates_id = l.rates_id
        group by 1, 2, 3, 4
        order by 1, 2, 3, 4;
    end;

alter function helio.sum_up() rename to sum_up_days;
create function helio.sum_up() returns void language sql
    begin atomic
        select helio.sum_up_days();
        select helio.sum_up_hours();
    end;

-- ---- compacted jobs by the hour ---------------------------------------------------------------------------

create view helio.job_hour_lines as
select helio.utc_hour(j.submitted_at) as hour, j.job_id, j.tenant, coalesce(e.queue, j.queue) as queue, s.state,
    coalesce(s.details->0->>'code', '') as reason, s.gpu_ms
from helio.jobs j
join helio.job_state s on s.job_id = j.job_id
left join helio.edits e on e.job_id = j.job_id;

create or replace function helio.add_totals(jobs uuid[]) returns void language sql
    begin atomic
        insert into helio.ended_badly (state, job_id, task)
        select s.state, s.job_id, s.task from helio.job_state s where s.job_id = any (jobs) and s.state <> 8;
        insert into helio.totals as t (tenant, state, tasks, gpu_ms, cost_micro_usd, energy_j, carbon_mg)
        select j.tenant, s.state, count(*), sum(s.gpu_ms), sum(s.cost_micro_usd), sum(s.energy_j), sum(s.carbon_mg)
        from helio.jobs j join helio.job_state s using (job_id)
        where j.job_id = any (jobs)
        group by j.tenant, s.state
        on conflict (tenant, state) do update set tasks = t.tasks + excluded.tasks, gpu_ms = t.gpu_ms + excluded.gpu_ms,
            cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd, energy_j = t.energy_j + excluded.energy_j,
            carbon_mg = t.carbon_mg + excluded.carbon_mg;
        insert into helio.job_hours as h (hour, tenant, queue, state, reason, jobs, gpu_ms)
        select l.hour, l.tenant, l.queue, l.state, l.reason, count(*), sum(l.gpu_ms)
        from helio.job_hour_lines l
        where l.job_id = any (jobs)
        group by 1, 2, 3, 4, 5
        on conflict (hour, tenant, queue, state, reason) do update set jobs = h.jobs + excluded.jobs, gpu_ms = h.gpu_ms + excluded.gpu_ms;
    end;

-- Migrations that a client asked for are few among all changes: whoever lists them reads these.
create index transitions_migrated on helio.transitions (at)
    where to_state = 6 and (details->0->>'code' = 'Migrated' or (details is null and reason like 'moved from %'));

-- A broker that writes meanwhile fires the triggers; the grants of every migration run come after this.
do $$
begin
    if exists (select from pg_roles where rolname = 'helio_broker') then
        grant select, insert, update, delete on helio.rolled, helio.stale_hours, helio.ledger_hours, helio.job_hours to helio_broker;
        grant select on helio.job_hour_lines to helio_broker;
    end if;
end
$$;

create trigger mark_transitions after insert on helio.transitions referencing new table as written
    for each statement execute function helio.mark_transitions();
create trigger mark_submissions after insert on helio.jobs referencing new table as written
    for each statement execute function helio.mark_submissions();
create trigger mark_placements after insert on helio.placements referencing new table as written
    for each statement execute function helio.mark_placements();
create trigger mark_samples after insert on helio.capacity_samples referencing new table as written
    for each statement execute function helio.mark_samples();
create trigger mark_attempts after insert on helio.attempts referencing new table as written
    for each statement execute function helio.mark_attempts();
create trigger mark_corrections after update on helio.attempts referencing old table as former new table as written
    for each statement execute function helio.mark_corrections();
create trigger mark_new_states after insert on helio.job_state referencing new table as written
    for each statement execute function helio.mark_new_states();
create trigger mark_changed_states after update on helio.job_state referencing old table as former new table as written
    for each statement execute function helio.mark_changed_states();
create trigger mark_new_edits after insert on helio.edits referencing new table as written
    for each statement execute function helio.mark_edits();
create trigger mark_changed_edits after update on helio.edits referencing new table as written
    for each statement execute function helio.mark_edits();
create trigger add_ledger_hours after insert on helio.ledger referencing new table as written
    for each statement execute function helio.add_ledger_hours();
select helio.sum_up_hours();

-- No job is compacted until this is committed.
lock table helio.settled in access exclusive mode;
insert into helio.job_hours (hour, tenant, queue, state, reason, jobs, gpu_ms)
select l.hour, l.tenant, l.queue, l.state, l.reason, count(*), sum(l.gpu_ms)
from helio.job_hour_lines l
where l.job_id < (select s.mark from helio.settled s) and not exists (select from helio.unsettled u where u.job_id = l.job_id)
group by 1, 2, 3, 4, 5;
