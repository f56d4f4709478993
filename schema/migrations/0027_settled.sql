-- What keeps the broker quick after millions of jobs. Jobs that are over are settled: counted once, and never looked through
-- again. The few old ones that are not over stand in a list of their own, so that one that is held for a year does not make
-- the broker look through a year.

create table helio.settled (
    one    boolean primary key default true check (one),
    mark   uuid not null default '00000000-0000-0000-0000-000000000000',
    looked uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into helio.settled default values;
comment on column helio.settled.mark is 'Every job with a smaller id is in helio.totals with all its tasks, or in helio.unsettled.';
comment on column helio.settled.looked is 'The unsettled job that was looked at last: they take turns.';

create table helio.unsettled (
    job_id uuid primary key
);
comment on table helio.unsettled is 'Old jobs of which a task was not over when they were looked at.';

create table helio.totals (
    tenant         text not null,
    state          smallint not null,
    tasks          bigint not null,
    gpu_ms         numeric not null,
    cost_micro_usd numeric not null,
    energy_j       numeric not null,
    carbon_mg      numeric not null,
    primary key (tenant, state)
);
comment on table helio.totals is 'Sums of the tasks of settled jobs. What is over never changes, so they hold.';

-- Of settled jobs those that did not succeed: few, and what lists of failures ask for.
create table helio.ended_badly (
    state  smallint not null,
    job_id uuid not null,
    task   integer not null,
    primary key (state, job_id, task)
);

-- No open job has a smaller id, but for those in helio.unsettled. Views for dashboards ask it, too, and their readers have no
-- right to look themselves.
create or replace function helio.open_from() returns uuid language sql stable security definer set search_path = pg_catalog
    return (select greatest(f.open_from, s.mark) from helio.federation f, helio.settled s);

-- Jobs with smaller ids are settled. A function, as above, so that the planner sees how few there are from here on.
create function helio.settled_to() returns uuid language sql stable security definer set search_path = pg_catalog
    return (select s.mark from helio.settled s);

create function helio.add_totals(jobs uuid[]) returns void language sql
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
    end;

-- Of these jobs, those that are over with every task.
create function helio.that_are_over(jobs uuid[]) returns uuid[] language sql stable
    begin atomic
        select coalesce(array_agg(j.job_id), '{}')
        from helio.jobs j
        where j.job_id = any (jobs) and coalesce(cardinality(j.tasks), 1)
            = (select count(*) from helio.job_state s where s.job_id = j.job_id and helio.state_is_over(s.state));
    end;

-- Settles at most so many jobs, and looks at as many old ones that were not over. Returns how many it moved on by. Ids ascend
-- with the order of commits, whatever the clock does (broker/core/submit.c): below an id that is committed none is added. Jobs of
-- the day before the newest one are left to settle by themselves.
create function helio.settle(most integer) returns integer language plpgsql
    as $$
declare
    since uuid;
    seen uuid;
    until uuid;
    beyond uuid;
    jobs uuid[];
    over uuid[];
begin
    select s.mark, s.looked into since, seen from helio.settled s for update;
    select greatest(f.open_from, (lpad(to_hex(greatest(('x' || left(replace(n.job_id::text, '-', ''), 12))::bit(48)::bigint
                                                       - 86400000, 0)), 12, '0') || repeat('0', 20))::uuid), n.job_id
    into until, beyond
    from helio.federation f, (select j.job_id from helio.jobs j order by j.job_id desc limit 1) n;
    until := least(until, beyond);

    select array_agg(u.job_id order by u.job_id) into jobs
    from (select o.job_id from helio.unsettled o where o.job_id > seen order by o.job_id limit most) u;
    over := helio.that_are_over(jobs);
    if over <> '{}' then
        perform helio.add_totals(over);
        delete from helio.unsettled u where u.job_id = any (over);
    end if;
    seen := coalesce(jobs[cardinality(jobs)], '00000000-0000-0000-0000-000000000000');

    select array_agg(n.job_id order by n.job_id) into jobs
    from (select j.job_id from helio.jobs j where j.job_id >= since and j.job_id < until order by j.job_id limit most) n;
    if cardinality(jobs) = most then
        until := jobs[most]; -- it is the first of the next ones
        jobs := jobs[:most - 1];
    end if;
    over := helio.that_are_over(jobs);
    if over <> '{}' then
        perform helio.add_totals(over);
    end if;
    insert into helio.unsettled (job_id) select unnest(jobs) except select unnest(over);
    update helio.settled s set mark = greatest(s.mark, coalesce(until, s.mark)), looked = seen
    where s.mark < until or s.looked <> seen;
    return coalesce(cardinality(jobs), 0);
end
$$;
