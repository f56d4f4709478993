-- What dashboards read of years: a job is found by its id in every view, and the sums of days and hours are kept beside the ledger.

-- ---- a job by its id --------------------------------------------------------------------------------------

-- A job that is no array is found by jobs_text, and from there by the key of each table. A task of an array is found likewise, by its
-- state. Of a hash (0044_job_text_hash.sql) the planner expected one job in two hundred, and so read whole tables beside it; of a unique
-- index it expects one. The order of text_pattern_ops serves equality and none of the comparisons that pass the check of tenants: whoever
-- asks knows the id already. Ids ascend, so that new entries go to the last page.
drop index helio.jobs_text;
create unique index jobs_text on helio.jobs (helio.job_text(job_id, -1) text_pattern_ops) where tasks is null;
create unique index job_state_text on helio.job_state (helio.job_text(job_id, task) text_pattern_ops) where task >= 0;
create index edited_text on helio.edited using hash (helio.job_text(job_id, -1));
-- A histogram of ids would tell a reader ids of others, by the rows that the planner expects of a comparison.
alter index helio.edited_text alter column 1 set statistics 0;

-- Views join these tables from the left, so that who does not ask for the id pays no join. A condition on the text makes an inner join of
-- it, and so reaches the index, because a strict function has no text of a job that is not there.
alter function helio.job_text(uuid, integer) strict;

-- Names come in no order: an index with an entry for each would cost a burst of submissions a page per job. This one says of 128 pages
-- of jobs whether a name can be there.
create index jobs_name on helio.jobs using brin (name text_bloom_ops) with (autosummarize = on);

-- ---- what a job asks for ----------------------------------------------------------------------------------

alter table helio.jobs add column goal smallint, add column flexible_ms bigint, add column deadline_at timestamptz;
comment on column helio.jobs.goal is 'As the document sets it (helio.goal_word); null = submitted before this column was added.';
comment on column helio.jobs.flexible_ms is 'Likewise, 0 = not flexible.';
comment on column helio.jobs.deadline_at is 'As the document sets it; null = none, or submitted before this column was added.';

create function helio.goal_word(goal smallint) returns text language sql immutable parallel safe
    return (array ['fast', 'cheap', 'balanced', 'green', 'follow-the-sun'])[goal + 1];

-- ---- what waits -------------------------------------------------------------------------------------------

create table helio.waiting_samples (
    at        timestamptz not null,
    tasks     integer not null,
    gpus      bigint not null,
    tenant    text not null,
    queue     text not null,
    reason    text not null,
    constraint waiting_samples_pkey primary key (at, tenant, queue, reason)
);
comment on table helio.waiting_samples is 'Tasks that waited, counted every five minutes (retention_waiting in schema/queries/retention.sql).';

-- ---- sums of the ledger -----------------------------------------------------------------------------------

-- Always the sums of their rows, since every row that is written adds itself in the same transaction; corrections are rows, too. They
-- have what the views by day show, so that a board of a month reads as many rows as it shows. Texts that the ledger has as null are
-- empty here.
create table helio.usage_days (
    day                timestamptz not null,
    jobs               bigint not null,
    jobs_first         bigint not null,
    gpu_ms             bigint not null,
    energy_j           bigint not null,
    carbon_mg          bigint not null,
    cost_micro_usd     bigint not null,
    fenced_gpu_ms      bigint not null,
    estimated_gpu_ms   bigint not null,
    carbon_estimated_j bigint not null,
    measured_j         bigint not null,
    transfer_j         bigint not null,
    transfer_mg        bigint not null,
    transfer_micro_usd bigint not null,
    units_done         double precision,
    tenant             text not null,
    queue              text not null,
    site               text not null,
    gpu_model          text not null,
    carbon_kind_first  text,
    carbon_kind_last   text,
    constraint usage_days_pkey primary key (tenant, day, queue, site, gpu_model)
) with (fillfactor = 50);
create index usage_days_day on helio.usage_days (day);
comment on column helio.usage_days.queue is 'empty: not known, of attempts of jobs that were over when their end was told';
comment on column helio.usage_days.jobs is 'Tasks with a row of the ledger in the group.';
comment on column helio.usage_days.jobs_first is
    'Those of them that had none before in another group of the tenant''s day: their sum counts each task of the day once.';
comment on column helio.usage_days.units_done is 'null: no attempt of the group is known';
comment on column helio.usage_days.carbon_kind_first is 'The first kind of intensity by the alphabet; several, if the last one differs.';

create table helio.usage_hours (
    hour       timestamptz not null,
    gpu_ms     bigint not null,
    energy_j   bigint not null,
    units_done double precision,
    site       text not null,
    gpu_model  text not null,
    constraint usage_hours_pkey primary key (hour, site, gpu_model)
) with (fillfactor = 50);
comment on table helio.usage_hours is 'The ledger without transfers of data.';

-- baseline: 0 home, 1 least-wait, 2 jobs that are compared with no home. The used figures include fenced attempts.
create table helio.savings_days (
    day            timestamptz not null,
    jobs           bigint not null,
    estimated      bigint not null,
    energy_j       bigint not null,
    carbon_mg      bigint not null,
    cost_micro_usd bigint not null,
    wait_ms        bigint not null,
    would_j        bigint not null,
    would_mg       bigint not null,
    would_usd      bigint not null,
    would_wait_ms  bigint not null,
    baseline       smallint not null check (baseline between 0 and 2),
    tenant         text not null,
    carbon_kind    text not null,
    constraint savings_days_pkey primary key (tenant, day, baseline, carbon_kind)
) with (fillfactor = 50);
create index savings_days_day on helio.savings_days (day);
comment on column helio.savings_days.carbon_kind is 'empty: not known';

-- As before, without concat_ws, which is not immutable: so the planner puts it into the query and does not call it for each row.
create or replace function helio.carbon_kind_word(kind text, factor text) returns text language sql immutable parallel safe
    return case when kind is not null or factor is not null then coalesce(kind, 'average') || coalesce(' ' || factor, '') end;

-- Of the units of an attempt the part of a row: in proportion to its GPU time.
create function helio.units_of(gpu_ms bigint, units_done bigint, of_gpu_ms bigint) returns double precision
    language sql immutable parallel safe
    return units_done * gpu_ms::float8 / nullif(of_gpu_ms, 0);

-- The ledger as it is summed up.
create view helio.usage_lines as
select l.job_id, l.task, l.epoch, l.hour, l.part, helio.utc_day(l.hour) as day, l.tenant, coalesce(l.queue, '') as queue, l.site,
    coalesce(l.gpu_model, '') as gpu_model, l.gpu_ms, l.energy_j, l.carbon_mg, l.cost_micro_usd, l.fenced, l.estimated,
    coalesce(r.carbon_estimated, true) as carbon_estimated, l.provenance, helio.units_of(l.gpu_ms, a.units_done, a.gpu_ms) as units_done,
    helio.carbon_kind_word(r.carbon_kind, r.carbon_factor) as carbon_kind
from helio.ledger l
left join helio.attempts a on a.job_id = l.job_id and a.task = l.task and a.epoch = l.epoch
left join helio.rates r on r.rates_id = l.rates_id;

-- Every row that was written is read once, by its key. Scans are off because the plans last as long as the writer's session: they are made
-- while the table is still small, and would stay when it has grown.
create function helio.add_usage() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
begin
    with line as materialized (
        select u.*, count(*) over day_of_task as written_of_day,
            row_number() over (day_of_task order by u.queue, u.site, u.gpu_model, u.epoch, u.hour, u.part) as place_in_day,
            count(*) over group_of_task as written_of_group,
            row_number() over (group_of_task order by u.epoch, u.hour, u.part) as place_in_group
        from written w join helio.usage_lines u using (job_id, task, epoch, hour, part)
        window day_of_task as (partition by u.day, u.tenant, u.job_id, u.task),
            group_of_task as (partition by u.day, u.tenant, u.job_id, u.task, u.queue, u.site, u.gpu_model)
    ), counted as (
        select l.*, l.place_in_group = 1 and l.written_of_group = k.of_group as is_new,
            l.place_in_day = 1 and l.written_of_day = k.of_day as is_first
        from line l
        cross join lateral (
            select count(*) as of_day,
                count(*) filter (where (coalesce(o.queue, ''), o.site, coalesce(o.gpu_model, '')) = (l.queue, l.site, l.gpu_model)) as of_group
            from helio.ledger o
            where l.place_in_group = 1 and o.job_id = l.job_id and o.task = l.task and helio.utc_day(o.hour) = l.day and o.tenant = l.tenant
        ) k
    ), days as (
        insert into helio.usage_days as d (day, tenant, queue, site, gpu_model, jobs, jobs_first, gpu_ms, energy_j, carbon_mg, cost_micro_usd,
            fenced_gpu_ms, estimated_gpu_ms, carbon_estimated_j, measured_j, transfer_j, transfer_mg, transfer_micro_usd, units_done,
            carbon_kind_first, carbon_kind_last)
        select c.day, c.tenant, c.queue, c.site, c.gpu_model, count(*) filter (where c.is_new), count(*) filter (where c.is_first),
            helio.bounded(sum(c.gpu_ms)), helio.bounded(sum(c.energy_j)), helio.bounded(sum(c.carbon_mg)), helio.bounded(sum(c.cost_micro_usd)),
            helio.bounded(coalesce(sum(c.gpu_ms) filter (where c.fenced), 0)), helio.bounded(coalesce(sum(c.gpu_ms) filter (where c.estimated), 0)),
            helio.bounded(coalesce(sum(c.energy_j) filter (where c.carbon_estimated), 0)),
            helio.bounded(coalesce(sum(c.energy_j) filter (where c.provenance = 'measured'), 0)),
            helio.bounded(coalesce(sum(c.energy_j) filter (where c.part = 1), 0)),
            helio.bounded(coalesce(sum(c.carbon_mg) filter (where c.part = 1), 0)),
            helio.bounded(coalesce(sum(c.cost_micro_usd) filter (where c.part = 1), 0)), sum(c.units_done), min(c.carbon_kind), max(c.carbon_kind)
        from counted c
        group by 1, 2, 3, 4, 5
        order by 2, 1, 3, 4, 5
        on conflict (tenant, day, queue, site, gpu_model) do update set jobs = d.jobs + excluded.jobs, jobs_first = d.jobs_first + excluded.jobs_first,
            gpu_ms = helio.bounded(d.gpu_ms::numeric + excluded.gpu_ms), energy_j = helio.bounded(d.energy_j::numeric + excluded.energy_j),
            carbon_mg = helio.bounded(d.carbon_mg::numeric + excluded.carbon_mg),
            cost_micro_usd = helio.bounded(d.cost_micro_usd::numeric + excluded.cost_micro_usd),
            fenced_gpu_ms = helio.bounded(d.fenced_gpu_ms::numeric + excluded.fenced_gpu_ms),
            estimated_gpu_ms = helio.bounded(d.estimated_gpu_ms::numeric + excluded.estimated_gpu_ms),
            carbon_estimated_j = helio.bounded(d.carbon_estimated_j::numeric + excluded.carbon_estimated_j),
            measured_j = helio.bounded(d.measured_j::numeric + excluded.measured_j),
            transfer_j = helio.bounded(d.transfer_j::numeric + excluded.transfer_j),
            transfer_mg = helio.bounded(d.transfer_mg::numeric + excluded.transfer_mg),
            transfer_micro_usd = helio.bounded(d.transfer_micro_usd::numeric + excluded.transfer_micro_usd),
            units_done = coalesce(d.units_done + excluded.units_done, d.units_done, excluded.units_done),
            carbon_kind_first = least(d.carbon_kind_first, excluded.carbon_kind_first),
            carbon_kind_last = greatest(d.carbon_kind_last, excluded.carbon_kind_last)
    ), hours as (
        insert into helio.usage_hours as h (hour, site, gpu_model, gpu_ms, energy_j, units_done)
        select u.hour, u.site, u.gpu_model, helio.bounded(sum(u.gpu_ms)), helio.bounded(sum(u.energy_j)), sum(u.units_done)
        from line u
        where u.part <> 1
        group by 1, 2, 3
        order by 1, 2, 3
        on conflict (hour, site, gpu_model) do update set gpu_ms = helio.bounded(h.gpu_ms::numeric + excluded.gpu_ms),
            energy_j = helio.bounded(h.energy_j::numeric + excluded.energy_j),
            units_done = coalesce(h.units_done + excluded.units_done, h.units_done, excluded.units_done)
    )
    -- The federation causes the use of fenced attempts, so it is part of no baseline.
    insert into helio.savings_days as d (day, tenant, baseline, carbon_kind, jobs, estimated, energy_j, carbon_mg, cost_micro_usd, wait_ms,
        would_j, would_mg, would_usd, would_wait_ms)
    select u.day, u.tenant, b.baseline, coalesce(u.carbon_kind, ''), 0, 0, helio.bounded(sum(u.energy_j)), helio.bounded(sum(u.carbon_mg)),
        helio.bounded(sum(u.cost_micro_usd)), 0, 0, 0, 0, 0
    from line u
    cross join (values (0::smallint), (1::smallint)) as b (baseline)
    where u.fenced
    group by 1, 2, 3, 4
    on conflict (tenant, day, baseline, carbon_kind) do update set energy_j = helio.bounded(d.energy_j::numeric + excluded.energy_j),
        carbon_mg = helio.bounded(d.carbon_mg::numeric + excluded.carbon_mg),
        cost_micro_usd = helio.bounded(d.cost_micro_usd::numeric + excluded.cost_micro_usd);
    return null;
end
$$;

-- An attempt that was given up is corrected once: what its site reports of its units counts for its rows that are there already.
create function helio.correct_units() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
begin
    update helio.usage_days d set units_done = coalesce(d.units_done, 0) + n.units
    from (select l.day, l.tenant, l.queue, l.site, l.gpu_model,
              sum(coalesce(helio.units_of(l.gpu_ms, new.units_done, new.gpu_ms), 0)
                  - coalesce(helio.units_of(l.gpu_ms, old.units_done, old.gpu_ms), 0)) as units
          from helio.usage_lines l
          where l.job_id = new.job_id and l.task = new.task and l.epoch = new.epoch
          group by 1, 2, 3, 4, 5) n
    where (d.tenant, d.day, d.queue, d.site, d.gpu_model) = (n.tenant, n.day, n.queue, n.site, n.gpu_model);
    update helio.usage_hours h set units_done = coalesce(h.units_done, 0) + n.units
    from (select l.hour, l.site, l.gpu_model,
              sum(coalesce(helio.units_of(l.gpu_ms, new.units_done, new.gpu_ms), 0)
                  - coalesce(helio.units_of(l.gpu_ms, old.units_done, old.gpu_ms), 0)) as units
          from helio.usage_lines l
          where l.job_id = new.job_id and l.task = new.task and l.epoch = new.epoch and l.part <> 1
          group by 1, 2, 3) n
    where (h.hour, h.site, h.gpu_model) = (n.hour, n.site, n.gpu_model);
    return null;
end
$$;

-- A job that ran to its end, against both baselines.
create view helio.savings_lines as
select b.job_id, b.task, helio.utc_day(b.ended_at) as day, b.tenant, v.baseline, coalesce(v.carbon_kind, '') as carbon_kind, b.estimated::integer as estimated,
    b.energy_j, b.carbon_mg, b.cost_micro_usd, b.wait_ms, v.would_j, v.would_mg, v.would_usd, v.would_wait_ms
from helio.baselines b
cross join lateral (
    select 0::smallint as baseline, b.home_carbon_kind as carbon_kind, b.home_energy_j as would_j, b.home_carbon_mg as would_mg,
        b.home_cost_micro_usd as would_usd, 0::bigint as would_wait_ms
    where b.home_site is not null
    union all
    select 1::smallint, b.least_carbon_kind, b.least_energy_j, b.least_carbon_mg, b.least_cost_micro_usd, b.least_wait_ms where b.least_site is not null
    union all
    select 2::smallint, null, 0, 0, 0, 0 where b.home_site is null
) v;

create function helio.add_savings() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
begin
    insert into helio.savings_days as d (day, tenant, baseline, carbon_kind, jobs, estimated, energy_j, carbon_mg, cost_micro_usd, wait_ms,
        would_j, would_mg, would_usd, would_wait_ms)
    select s.day, s.tenant, s.baseline, s.carbon_kind, count(*), sum(s.estimated), helio.bounded(sum(s.energy_j)), helio.bounded(sum(s.carbon_mg)),
        helio.bounded(sum(s.cost_micro_usd)), helio.bounded(sum(s.wait_ms)), helio.bounded(sum(s.would_j)), helio.bounded(sum(s.would_mg)),
        helio.bounded(sum(s.would_usd)), helio.bounded(sum(s.would_wait_ms))
    from written w join helio.savings_lines s using (job_id, task)
    group by 1, 2, 3, 4
    on conflict (tenant, day, baseline, carbon_kind) do update set jobs = d.jobs + excluded.jobs, estimated = d.estimated + excluded.estimated,
        energy_j = helio.bounded(d.energy_j::numeric + excluded.energy_j), carbon_mg = helio.bounded(d.carbon_mg::numeric + excluded.carbon_mg),
        cost_micro_usd = helio.bounded(d.cost_micro_usd::numeric + excluded.cost_micro_usd),
        wait_ms = helio.bounded(d.wait_ms::numeric + excluded.wait_ms), would_j = helio.bounded(d.would_j::numeric + excluded.would_j),
        would_mg = helio.bounded(d.would_mg::numeric + excluded.would_mg), would_usd = helio.bounded(d.would_usd::numeric + excluded.would_usd),
        would_wait_ms = helio.bounded(d.would_wait_ms::numeric + excluded.would_wait_ms);
    return null;
end
$$;

-- The sums of everything that is there, anew.
create function helio.sum_up() returns void language sql
    begin atomic
        delete from helio.usage_days;
        insert into helio.usage_days (day, tenant, queue, site, gpu_model, jobs, jobs_first, gpu_ms, energy_j, carbon_mg, cost_micro_usd,
            fenced_gpu_ms, estimated_gpu_ms, carbon_estimated_j, measured_j, transfer_j, transfer_mg, transfer_micro_usd, units_done,
            carbon_kind_first, carbon_kind_last)
        select t.day, t.tenant, t.queue, t.site, t.gpu_model, count(*), count(*) filter (where t.is_first),
            helio.bounded(sum(t.gpu_ms)), helio.bounded(sum(t.energy_j)), helio.bounded(sum(t.carbon_mg)), helio.bounded(sum(t.cost_micro_usd)),
            helio.bounded(sum(t.fenced_gpu_ms)), helio.bounded(sum(t.estimated_gpu_ms)), helio.bounded(sum(t.carbon_estimated_j)),
            helio.bounded(sum(t.measured_j)), helio.bounded(sum(t.transfer_j)), helio.bounded(sum(t.transfer_mg)),
            helio.bounded(sum(t.transfer_micro_usd)), sum(t.units_done), min(t.carbon_kind_first), max(t.carbon_kind_last)
        from (
            select u.day, u.tenant, u.queue, u.site, u.gpu_model,
                row_number() over (partition by u.day, u.tenant, u.job_id, u.task order by u.queue, u.site, u.gpu_model) = 1 as is_first,
                sum(u.gpu_ms) as gpu_ms, sum(u.energy_j) as energy_j, sum(u.carbon_mg) as carbon_mg, sum(u.cost_micro_usd) as cost_micro_usd,
                coalesce(sum(u.gpu_ms) filter (where u.fenced), 0) as fenced_gpu_ms,
                coalesce(sum(u.gpu_ms) filter (where u.estimated), 0) as estimated_gpu_ms,
                coalesce(sum(u.energy_j) filter (where u.carbon_estimated), 0) as carbon_estimated_j,
                coalesce(sum(u.energy_j) filter (where u.provenance = 'measured'), 0) as measured_j,
                coalesce(sum(u.energy_j) filter (where u.part = 1), 0) as transfer_j,
                coalesce(sum(u.carbon_mg) filter (where u.part = 1), 0) as transfer_mg,
                coalesce(sum(u.cost_micro_usd) filter (where u.part = 1), 0) as transfer_micro_usd, sum(u.units_done) as units_done,
                min(u.carbon_kind) as carbon_kind_first, max(u.carbon_kind) as carbon_kind_last
            from helio.usage_lines u
            group by u.day, u.tenant, u.job_id, u.task, u.queue, u.site, u.gpu_model
        ) t
        group by 1, 2, 3, 4, 5
        order by 1, 2, 3, 4, 5;

        delete from helio.usage_hours;
        insert into helio.usage_hours (hour, site, gpu_model, gpu_ms, energy_j, units_done)
        select u.hour, u.site, u.gpu_model, helio.bounded(sum(u.gpu_ms)), helio.bounded(sum(u.energy_j)), sum(u.units_done)
        from helio.usage_lines u where u.part <> 1
        group by 1, 2, 3
        order by 1, 2, 3;

        delete from helio.savings_days;
        insert into helio.savings_days (day, tenant, baseline, carbon_kind, jobs, estimated, energy_j, carbon_mg, cost_micro_usd, wait_ms,
            would_j, would_mg, would_usd, would_wait_ms)
        select s.day, s.tenant, s.baseline, s.carbon_kind, sum(s.jobs), sum(s.estimated), helio.bounded(sum(s.energy_j)),
            helio.bounded(sum(s.carbon_mg)), helio.bounded(sum(s.cost_micro_usd)), helio.bounded(sum(s.wait_ms)), helio.bounded(sum(s.would_j)),
            helio.bounded(sum(s.would_mg)), helio.bounded(sum(s.would_usd)), helio.bounded(sum(s.would_wait_ms))
        from (
            select l.day, l.tenant, l.baseline, l.carbon_kind, 1 as jobs, l.estimated, l.energy_j, l.carbon_mg, l.cost_micro_usd, l.wait_ms,
                l.would_j, l.would_mg, l.would_usd, l.would_wait_ms
            from helio.savings_lines l
            union all
            select u.day, u.tenant, b.baseline, coalesce(u.carbon_kind, ''), 0, 0, u.energy_j, u.carbon_mg, u.cost_micro_usd, 0, 0, 0, 0, 0
            from helio.usage_lines u cross join (values (0::smallint), (1::smallint)) as b (baseline)
            where u.fenced
        ) s
        group by 1, 2, 3, 4
        order by 1, 2, 3, 4;
    end;

-- Budgets read the same sums. The view of budgets of the release before uses the table until it is replaced; then the table goes
-- (schema/report/95_former_names.sql).
drop trigger add_days on helio.ledger;
drop function helio.add_ledger_days();
alter table helio.ledger_days rename to ledger_days_before;
create view helio.ledger_days as
select u.day, helio.bounded(sum(u.gpu_ms)) as gpu_ms, helio.bounded(sum(u.carbon_mg)) as carbon_mg,
    helio.bounded(sum(u.cost_micro_usd)) as cost_micro_usd, u.tenant, u.queue
from helio.usage_days u group by u.tenant, u.day, u.queue;

-- A broker that writes meanwhile fires the triggers; the grants of every migration run come after this.
do $$
begin
    if exists (select from pg_roles where rolname = 'helio_broker') then
        grant select, insert, update, delete on helio.usage_days, helio.usage_hours, helio.savings_days, helio.waiting_samples to helio_broker;
        grant select on helio.usage_lines, helio.savings_lines, helio.ledger_days to helio_broker;
    end if;
end
$$;

create trigger add_usage after insert on helio.ledger referencing new table as written
    for each statement execute function helio.add_usage();
create trigger add_savings after insert on helio.baselines referencing new table as written
    for each statement execute function helio.add_savings();
create trigger correct_units after update on helio.attempts
    for each row when ((old.units_done, old.gpu_ms) is distinct from (new.units_done, new.gpu_ms))
    execute function helio.correct_units();
select helio.sum_up();
