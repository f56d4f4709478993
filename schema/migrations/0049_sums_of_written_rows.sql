-- The triggers that keep sums add up the rows that they are given. Before, they read these rows again from their tables, by plans that were
-- made while the tables were small and that last as long as the writer's session: they read whole tables for each statement once these
-- had grown.

-- The rows of a statement as in helio.usage_lines, which is of the whole ledger. What is read beside them is read by its key, row by row:
-- the planner cannot make a hash of a table from a subquery that depends on the row. Scans are off for the same reason.
create or replace function helio.add_usage() returns trigger language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
begin
    with line as materialized (
        select u.*, count(*) over day_of_task as written_of_day,
            row_number() over (day_of_task order by u.queue, u.site, u.gpu_model, u.epoch, u.hour, u.part) as place_in_day,
            count(*) over group_of_task as written_of_group,
            row_number() over (group_of_task order by u.epoch, u.hour, u.part) as place_in_group
        from (
            select w.job_id, w.task, w.epoch, w.hour, w.part, helio.utc_day(w.hour) as day, w.tenant, coalesce(w.queue, '') as queue, w.site,
                coalesce(w.gpu_model, '') as gpu_model, w.gpu_ms, w.energy_j, w.carbon_mg, w.cost_micro_usd, w.fenced, w.estimated,
                coalesce(r.carbon_estimated, true) as carbon_estimated, w.provenance, r.carbon_kind,
                (select helio.units_of(w.gpu_ms, a.units_done, a.gpu_ms)
                 from helio.attempts a where a.job_id = w.job_id and a.task = w.task and a.epoch = w.epoch) as units_done
            from written w
            left join lateral (
                select r.carbon_estimated, helio.carbon_kind_word(r.carbon_kind, r.carbon_factor) as carbon_kind
                from helio.rates r where r.rates_id = w.rates_id
                offset 0
            ) r on true
        ) u
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

-- As in helio.savings_lines.
create or replace function helio.add_savings() returns trigger language plpgsql
    as $$
begin
    insert into helio.savings_days as d (day, tenant, baseline, carbon_kind, jobs, estimated, energy_j, carbon_mg, cost_micro_usd, wait_ms,
        would_j, would_mg, would_usd, would_wait_ms)
    select s.day, s.tenant, s.baseline, s.carbon_kind, count(*), sum(s.estimated), helio.bounded(sum(s.energy_j)), helio.bounded(sum(s.carbon_mg)),
        helio.bounded(sum(s.cost_micro_usd)), helio.bounded(sum(s.wait_ms)), helio.bounded(sum(s.would_j)), helio.bounded(sum(s.would_mg)),
        helio.bounded(sum(s.would_usd)), helio.bounded(sum(s.would_wait_ms))
    from (
        select helio.utc_day(w.ended_at) as day, w.tenant, v.baseline, coalesce(v.carbon_kind, '') as carbon_kind, w.estimated::integer as estimated,
            w.energy_j, w.carbon_mg, w.cost_micro_usd, w.wait_ms, v.would_j, v.would_mg, v.would_usd, v.would_wait_ms
        from written w
        cross join lateral (
            select 0::smallint as baseline, w.home_carbon_kind as carbon_kind, w.home_energy_j as would_j, w.home_carbon_mg as would_mg,
                w.home_cost_micro_usd as would_usd, 0::bigint as would_wait_ms
            where w.home_site is not null
            union all
            select 1::smallint, w.least_carbon_kind, w.least_energy_j, w.least_carbon_mg, w.least_cost_micro_usd, w.least_wait_ms
            where w.least_site is not null
            union all
            select 2::smallint, null, 0, 0, 0, 0 where w.home_site is null
        ) v
    ) s
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
