-- The basis of the views and of the broker's own queries: jobs with their current state, and the series in effect.
-- Internal to schema helio: not a stable interface.

-- The detail ArrayThrottle of federation/reason/details.def, which tests compare with these: no row of the broker's says it, because
-- which tasks an array's limit keeps out changes with each of them that ends.
create or replace function helio.throttle_sentence(tasks integer) returns text language sql immutable parallel safe
    return format('at most %s at once', case tasks when 1 then '1 task of this array runs' else tasks || ' tasks of this array run' end);

create or replace function helio.throttle_details(tasks integer) returns jsonb language sql immutable parallel safe
    return jsonb_build_array(jsonb_build_object('code', 'ArrayThrottle', 'params', jsonb_build_object('tasks', tasks)));

-- The detail Dependency, likewise, of a task that waits for the tasks of its index of other arrays.
create or replace function helio.awaited_tasks_sentence(tasks text[]) returns text language sql immutable parallel safe
    return (select string_agg(format('waits for job %s to succeed', t.task), '; ' order by t.place)
        from unnest(tasks) with ordinality as t (task, place));

create or replace function helio.awaited_tasks_details(tasks text[]) returns jsonb language sql immutable parallel safe
    return (select jsonb_agg(jsonb_build_object('code', 'Dependency', 'params', jsonb_build_object('job_id', t.task, 'event', 'succeed'))
        order by t.place) from unnest(tasks) with ordinality as t (task, place));

-- The detail GoesOnInTurn, likewise, of a job whose row says that it waits for a job, and that one has started or ended: many wait for it, and
-- their rows follow batch by batch (broker/core/holds/due_holds.h). Of an array, that its last task has a row is asked first, since most
-- arrays that are waited for have no such row yet.
create or replace function helio.goes_on_in_turn(of_job uuid, details jsonb) returns boolean language sql stable
    security definer set search_path = pg_catalog -- readers have no privileges on the tables
    return exists (
        select from helio.dependencies d
        join helio.jobs j on j.job_id = d.on_job
        where d.job_id = of_job and d.after <> 4
          and details @> jsonb_build_array(jsonb_build_object('code', 'Dependency', 'params',
              jsonb_build_object('job_id', helio.job_text(d.on_job, d.on_task))))
          and exists (select from helio.job_state s
                      where s.job_id = d.on_job and s.task = case when d.on_task >= 0 or j.tasks is null then d.on_task
                              else j.tasks[cardinality(j.tasks)] end
                        and (helio.state_is_over(s.state) or d.after = 3 and s.started_at is not null))
          and (d.on_task >= 0 or j.tasks is null
               or cardinality(j.tasks) = (select count(*) from helio.job_state s
                                          where s.job_id = d.on_job
                                            and (helio.state_is_over(s.state) or d.after = 3 and s.started_at is not null))));

create or replace function helio.in_turn_sentence() returns text language sql immutable parallel safe
    return 'a job that it depends on has started or ended; many wait for that, and go on in turn';

create or replace function helio.in_turn_details() returns jsonb language sql immutable parallel safe
    return '[{"code": "GoesOnInTurn", "params": {}}]'::jsonb;

-- The detail SitesUnreconciled, likewise: which sites a restored job waits for changes with each of them that reports.
create or replace function helio.awaited_sentence(sites text[]) returns text language sql immutable parallel safe
    return format('the database was restored, and it may run at %s%s, which %s not reported since; it starts when %s reported or an '
            'operator has attested %s', array_to_string(sites[1:5], ', '), ' and ' || nullif(greatest(cardinality(sites) - 5, 0), 0) || ' more',
        case cardinality(sites) when 1 then 'has' else 'have' end, case cardinality(sites) when 1 then 'that site has' else 'they have' end,
        case cardinality(sites) when 1 then 'it' else 'them' end);

create or replace function helio.awaited_details(sites text[]) returns jsonb language sql immutable parallel safe
    return jsonb_build_array(jsonb_build_object('code', 'SitesUnreconciled',
        'params', jsonb_build_object('sites', to_jsonb(sites[1:5]), 'sites_total', cardinality(sites))));

-- The detail ReservedAhead, likewise: the row of a class says for which of its jobs capacity is reserved, and the others wait behind that
-- one. Rows of older releases do not say which job it is.
create or replace function helio.reserved_ahead(details jsonb, job uuid, task integer) returns text language sql immutable parallel safe
    return case when details->0->>'code' = 'ReservedForIt' and details->0->'params'->>'job_id' <> '' then
        nullif(details->0->'params'->>'job_id', helio.job_text(job, task)) end;

create or replace function helio.reserved_ahead_sentence(details jsonb) returns text language sql immutable parallel safe
    return format('%s/%s is reserved from %s for job %s, an equal one ahead of it', details->0->'params'->>'site',
        details->0->'params'->>'pool', left(details->0->'params'->>'from', 16) || 'Z', details->0->'params'->>'job_id');

create or replace function helio.reserved_ahead_details(details jsonb) returns jsonb language sql immutable parallel safe
    return jsonb_set(details, '{0,code}', '"ReservedAhead"');

-- Whether the row of a waiting task says that a copy of it, which a site has listed, keeps it out of its queue.
create or replace function helio.has_copies(details jsonb) returns boolean language sql immutable parallel safe
    return coalesce(details @> '[{"code": "CopiesEnd"}]', false);

-- The sites that jobs of a restored database wait for, by the jobs' `on_site_loss` (broker/core/state/copies.h). No row: none waits.
create or replace view helio.awaited_now as
select l.on_site_loss, f.restored_job, w.sites
from helio.federation f
cross join (values (0::smallint), (1::smallint)) as l (on_site_loss)
cross join lateral (select array_agg(s.site order by s.site) as sites from helio.sites s where s.awaited_by > l.on_site_loss) w
where w.sites is not null;

-- One row per task. A task without a row in job_state is queued and was never placed; its pending reason is stored once for its class.
-- Its run time is that of its attempts: those that ended, without fenced ones (as in gpu_seconds), and the one that runs. started_at stays
-- the start of an ended attempt until the next one runs, so that it does not grow meanwhile.
-- A throttled array lets its tasks into the queue in ascending order; those that have been placed have a row in job_state and are let
-- in. A task is kept out while as many others before it wait as the limit leaves, as broker/core/state/jobs.c feeds them; those that wait for
-- tasks of another array count here as if they waited for the limit alone.
create or replace view helio.tasks_now as
select j.job_id, t.task, j.tasks is not null as of_array, j.name, j.tenant, j.user_name, coalesce(e.queue, j.queue) as queue,
    coalesce(e.tier, j.tier) as tier, j.kind, j.home_site, j.gpus, j.nodes, coalesce(e.time_limit_ms, j.time_limit_ms) as time_limit_ms,
    coalesce(e.class_id, j.class_id) as class_id, j.submitted_at,
    coalesce(s.state, 0::smallint) as state, coalesce(s.epoch, 0) as epoch, coalesce(s.attempts, 0) as attempts,
    s.site, s.pool, coalesce(p.gpu, j.gpu_model) as gpu_model, s.started_at, s.finished_at, s.exit_code,
    coalesce(s.gpu_ms, 0) / 1000.0::float8 as gpu_seconds,
    coalesce(s.cost_micro_usd, 0) / 1000000.0::float8 as cost_usd,
    coalesce(s.energy_j, 0) / 3600000.0::float8 as energy_kwh,
    coalesce(s.carbon_mg, 0) / 1000.0::float8 as carbon_g,
    coalesce(s.units_done, 0) as units_done,
    case when coalesce(s.state, 0) <> 0 then s.reason
         when w.sites is not null or helio.has_copies(s.details) then 'Gated'
         when g.job_id is not null and g.opened_at is null or throttle.awaited is not null then 'Gated'
         when throttle.kept_out then 'Gated'
         else coalesce(c.reason, s.reason, 'Queued') end as reason,
    case when coalesce(s.state, 0) = 0 then
        case when w.sites is not null then helio.awaited_sentence(w.sites)
             when helio.has_copies(s.details) then s.reason
             when g.job_id is not null and g.opened_at is null
             then case when helio.goes_on_in_turn(j.job_id, g.details) then helio.in_turn_sentence() else g.detail end
             when throttle.awaited is not null then helio.awaited_tasks_sentence(throttle.awaited)
             when throttle.kept_out then helio.throttle_sentence(j.tasks_at_once)
             when helio.reserved_ahead(c.details, j.job_id, t.task) is not null then helio.reserved_ahead_sentence(c.details)
             else c.detail end end as detail,
    case when coalesce(s.state, 0) = 0 and (g.job_id is null or g.opened_at is not null)
             and throttle.kept_out is not true and throttle.awaited is null and w.sites is null and not helio.has_copies(s.details)
        then c.decision_id end as waiting_decision_id,
    s.at as changed_at,
    case when coalesce(s.state, 0) = 0 and (g.job_id is null or g.opened_at is not null)
             and throttle.kept_out is not true and throttle.awaited is null and w.sites is null and not helio.has_copies(s.details)
             and helio.reserved_ahead(c.details, j.job_id, t.task) is null
        then c.expected_at end as expected_at,
    nullif(s.saved_ms, 0) / 1000.0::float8 as saved_seconds,
    case when s.started_at is not null then
        (select coalesce(sum(a.run_ms) filter (where not a.fenced), 0) / 1000.0::float8
             + case when (s.state between 4 and 6 or (s.state = 7 and s.before between 4 and 6))
                     and not coalesce(bool_or(a.epoch = s.epoch or a.started_at = s.started_at), false)
                 then helio.seconds_between(s.started_at, now()) else 0 end
         from helio.attempts a
         where a.job_id = j.job_id and a.task = t.task) end as run_seconds,
    coalesce(e.priority, 0) as priority, s.before,
    case when coalesce(s.state, 0) <> 0 then s.details
         when w.sites is not null then helio.awaited_details(w.sites)
         when helio.has_copies(s.details) then s.details
         when g.job_id is not null and g.opened_at is null
         then case when helio.goes_on_in_turn(j.job_id, g.details) then helio.in_turn_details() else g.details end
         when throttle.awaited is not null then helio.awaited_tasks_details(throttle.awaited)
         when throttle.kept_out then helio.throttle_details(j.tasks_at_once)
         when helio.reserved_ahead(c.details, j.job_id, t.task) is not null then helio.reserved_ahead_details(c.details)
         when c.reason is not null then c.details
         else s.details end as details,
    coalesce(e.goal, j.goal) as goal, coalesce(e.flexible_ms, j.flexible_ms) as flexible_ms,
    case when e.job_id is not null then e.deadline_at else j.deadline_at end as deadline_at, j.id_text
from helio.jobs j
cross join lateral unnest(coalesce(j.tasks, '{-1}'::integer[])) with ordinality as t (task, place)
left join helio.job_state s on s.job_id = j.job_id and s.task = t.task
cross join lateral (
    select case when s.job_id is not null or j.tasks_at_once is null then false
        -- most tasks are so far behind the last one with a row that nothing has to be counted
        when t.place > j.tasks_at_once + coalesce(array_position(j.tasks,
            (select max(o.task) from helio.job_state o where o.job_id = j.job_id)), 0) then true
        else (select t.place - 1 - count(*) filter (where o.task < t.task)
             >= greatest(j.tasks_at_once - count(*) filter (where o.state between 0 and 7
                 and not (o.state = 0 and helio.has_copies(o.details))), 0)
         from helio.job_state o where o.job_id = j.job_id) end as kept_out,
        case when j.tasks is not null and coalesce(s.state, 0) = 0 then
            (select array_agg(helio.job_text(d.on_job, d.on_task) order by d.place)
             from helio.dependencies d join helio.jobs a on a.job_id = d.on_job
             left join helio.job_state o on o.job_id = d.on_job and o.task = d.on_task
             where d.job_id = j.job_id and d.on_task = t.task and d.after = 4
                 and not helio.state_is_over(coalesce(o.state, 0::smallint))) end as awaited
    offset 0 -- once for each task, however often it is read below
) throttle
left join helio.edits e on e.job_id = j.job_id
left join helio.classes c on c.class_id = coalesce(e.class_id, j.class_id)
left join helio.gates g on g.job_id = j.job_id
left join helio.pools p on p.site = s.site and p.pool = s.pool
left join helio.awaited_now w on j.job_id <= w.restored_job and coalesce(j.on_site_loss, 0) = w.on_site_loss
    and coalesce(s.state, 0) = 0;

-- The rows of helio.tasks_now of jobs that are no arrays, from the mark on: a test compares them. Jobs and states are each a range of their key
-- and are merged; in tasks_now, what arrays need has a part for each job, and each state is looked up.
create or replace view helio.single_tasks_now as
select j.job_id, -1 as task, j.name, j.tenant, j.user_name, coalesce(e.queue, j.queue) as queue, coalesce(e.tier, j.tier) as tier, j.kind,
    j.home_site, j.gpus, j.nodes, coalesce(e.time_limit_ms, j.time_limit_ms) as time_limit_ms, j.submitted_at,
    coalesce(s.state, 0::smallint) as state, coalesce(s.epoch, 0) as epoch, coalesce(s.attempts, 0) as attempts, s.site, s.pool,
    coalesce(p.gpu, j.gpu_model) as gpu_model, s.started_at, coalesce(s.gpu_ms, 0) / 1000.0::float8 as gpu_seconds,
    coalesce(s.cost_micro_usd, 0) / 1000000.0::float8 as cost_usd, coalesce(s.energy_j, 0) / 3600000.0::float8 as energy_kwh,
    coalesce(s.carbon_mg, 0) / 1000.0::float8 as carbon_g, coalesce(s.units_done, 0) as units_done,
    case when coalesce(s.state, 0) <> 0 then s.reason
         when w.sites is not null or helio.has_copies(s.details) or g.job_id is not null and g.opened_at is null then 'Gated'
         else coalesce(c.reason, s.reason, 'Queued') end as reason,
    case when coalesce(s.state, 0) = 0 then
        case when w.sites is not null then helio.awaited_sentence(w.sites)
             when helio.has_copies(s.details) then s.reason
             when g.job_id is not null and g.opened_at is null
             then case when helio.goes_on_in_turn(j.job_id, g.details) then helio.in_turn_sentence() else g.detail end
             when helio.reserved_ahead(c.details, j.job_id, -1) is not null then helio.reserved_ahead_sentence(c.details)
             else c.detail end end as detail,
    case when coalesce(s.state, 0) = 0 and (g.job_id is null or g.opened_at is not null) and w.sites is null
             and not helio.has_copies(s.details) and helio.reserved_ahead(c.details, j.job_id, -1) is null
        then c.expected_at end as expected_at,
    s.before,
    case when coalesce(s.state, 0) <> 0 then s.details
         when w.sites is not null then helio.awaited_details(w.sites)
         when helio.has_copies(s.details) then s.details
         when g.job_id is not null and g.opened_at is null
         then case when helio.goes_on_in_turn(j.job_id, g.details) then helio.in_turn_details() else g.details end
         when helio.reserved_ahead(c.details, j.job_id, -1) is not null then helio.reserved_ahead_details(c.details)
         when c.reason is not null then c.details
         else s.details end as details,
    coalesce(e.goal, j.goal) as goal, coalesce(e.flexible_ms, j.flexible_ms) as flexible_ms,
    case when e.job_id is not null then e.deadline_at else j.deadline_at end as deadline_at, j.id_text
from helio.jobs j
left join helio.job_state s on s.job_id = j.job_id and s.task = -1 and s.job_id >= helio.open_from()
left join helio.edits e on e.job_id = j.job_id
left join helio.classes c on c.class_id = coalesce(e.class_id, j.class_id)
left join helio.gates g on g.job_id = j.job_id
left join helio.pools p on p.site = s.site and p.pool = s.pool
left join helio.awaited_now w on j.job_id <= w.restored_job and coalesce(j.on_site_loss, 0) = w.on_site_loss
    and coalesce(s.state, 0) = 0
where j.tasks is null and j.job_id >= helio.open_from();

-- Rows about jobs, with the text of the job's id. A condition on the text leads to the job, or to the state of an array's task
-- (0048_jobs_text.sql, 0046_boards.sql), and from there to the rows by their key. Without one, and where the text is not shown, the
-- planner drops the join: it adds no row and removes none.
create or replace view helio.transitions_by_text as
select helio.text_of_job(j.id_text, j.job_id) as id, t.*
from helio.transitions t left join helio.jobs j on j.job_id = t.job_id and j.tasks is null where t.task = -1
union all
select helio.job_text(s.job_id, s.task), t.*
from helio.transitions t left join helio.job_state s on s.job_id = t.job_id and s.task = t.task and s.task >= 0 where t.task >= 0;

create or replace view helio.placements_by_text as
select helio.text_of_job(j.id_text, j.job_id) as id, p.*
from helio.placements p left join helio.jobs j on j.job_id = p.job_id and j.tasks is null where p.task = -1
union all
select helio.job_text(s.job_id, s.task), p.*
from helio.placements p left join helio.job_state s on s.job_id = p.job_id and s.task = p.task and s.task >= 0 where p.task >= 0;

create or replace view helio.ledger_by_text as
select helio.text_of_job(j.id_text, j.job_id) as id, l.*
from helio.ledger l left join helio.jobs j on j.job_id = l.job_id and j.tasks is null where l.task = -1
union all
select helio.job_text(s.job_id, s.task), l.*
from helio.ledger l left join helio.job_state s on s.job_id = l.job_id and s.task = l.task and s.task >= 0 where l.task >= 0;

create or replace view helio.savings_by_text as
select helio.text_of_job(j.id_text, j.job_id) as id, b.ended_at, case l.baseline when 0 then b.home_site else b.least_site end as at_site, l.*
from helio.savings_lines l join helio.baselines b using (job_id, task) left join helio.jobs j on j.job_id = l.job_id and j.tasks is null
where l.task = -1
union all
select helio.job_text(s.job_id, s.task), b.ended_at, case l.baseline when 0 then b.home_site else b.least_site end, l.*
from helio.savings_lines l join helio.baselines b using (job_id, task)
left join helio.job_state s on s.job_id = l.job_id and s.task = l.task and s.task >= 0 where l.task >= 0;

-- Jobs that may be open: old jobs that were open when they were settled, and all jobs from the mark on.
create or replace view helio.maybe_open as
select u.job_id from helio.unsettled u
union all
select j.job_id from helio.jobs j where j.job_id >= helio.open_from();

-- The states of these: a range of the key, where a join makes the planner read the states of all jobs there ever were.
create or replace view helio.state_maybe_open as
select s.* from helio.unsettled u join helio.job_state s using (job_id)
union all
select s.* from helio.job_state s where s.job_id >= helio.open_from();

-- How many tasks of each job that may be open are queued, live, held and open, cheaply: tasks without a state are queued, and need not be
-- looked at one by one. Both sides are ranges of their keys, each read once, and few older jobs, which are looked up one by one; the full
-- join, as below, cannot become a loop of loops, and the fence keeps conditions on the tenant out of it.
create or replace view helio.open_now as
select j.job_id, j.tenant, j.queue, j.gpus, j.tasks - coalesce(n.seen, 0) as queued, coalesce(n.live, 0) as live, coalesce(n.held, 0) as held,
    j.tasks - coalesce(n.over, 0) as open
from (select o.job_id, o.tenant, coalesce(e.queue, o.queue) as queue, o.gpus, coalesce(cardinality(o.tasks), 1)::bigint as tasks
      from (select a.job_id, a.tenant, a.queue, a.gpus, a.tasks from helio.jobs a where a.job_id >= helio.open_from()
            union all
            select a.job_id, a.tenant, a.queue, a.gpus, a.tasks
            from helio.unsettled u cross join lateral (select * from helio.jobs a where a.job_id = u.job_id offset 0) a) o
      left join helio.edits e using (job_id)
      offset 0) j
full join (select s.job_id, count(*) filter (where s.state <> 0) as seen, count(*) filter (where helio.state_is_live(s.state)) as live,
               count(*) filter (where s.state = 13) as held, count(*) filter (where helio.state_is_over(s.state)) as over
           from (select a.job_id, a.state from helio.job_state a where a.job_id >= helio.open_from()
                 union all
                 select a.job_id, a.state
                 from helio.unsettled u cross join lateral (select * from helio.job_state a where a.job_id = u.job_id offset 0) a) s
           group by s.job_id offset 0) n using (job_id)
offset 0;

-- What waits, by tenant, queue and reason: the tasks of tasks_now in state 0, as cheaply as they are few. The jobs that have one are found
-- by the key from the mark on, and each is read once: reading tasks_now for all of them would read every job there ever was, and the
-- states of an array once for each of its tasks. Here the tasks without a state are counted as they come; the full join, whose left and
-- right are one array, is one that the planner cannot make a loop of loops.
create or replace view helio.waiting_now as
with waits as materialized (
    select j.job_id
    from helio.jobs j
    where j.job_id >= helio.open_from()
      and not exists (select from helio.job_state s
                      where s.job_id = j.job_id and s.job_id >= helio.open_from() and s.task = -1 and s.state <> 0)
      and (j.tasks is null or cardinality(j.tasks) > (select count(*) from helio.job_state s where s.job_id = j.job_id and s.state <> 0))
    union all
    select j.job_id
    from helio.unsettled u join helio.jobs j using (job_id)
    where coalesce(cardinality(j.tasks), 1) > (select count(*) from helio.job_state s where s.job_id = j.job_id and s.state <> 0)
)
select j.tenant, j.queue, t.reason, helio.bounded(sum(t.tasks)) as tasks, helio.bounded(sum(t.tasks * j.gpus)) as gpus
from waits w
cross join lateral (
    select j.tenant, coalesce(e.queue, j.queue) as queue, j.gpus, j.tasks, j.tasks_at_once, c.reason,
        g.job_id is not null and g.opened_at is null
            or exists (select from helio.awaited_now a where j.job_id <= a.restored_job and coalesce(j.on_site_loss, 0) = a.on_site_loss) as gated,
        j.tasks is not null and exists (select from helio.dependencies d where d.job_id = j.job_id and d.after = 4) as by_task
    from helio.jobs j
    left join helio.edits e on e.job_id = j.job_id
    left join helio.classes c on c.class_id = coalesce(e.class_id, j.class_id)
    left join helio.gates g on g.job_id = j.job_id
    where j.job_id = w.job_id
    offset 0
) j
cross join lateral (
    select case when j.gated or n.has_copies
                  or j.tasks_at_once is not null and n.before > greatest(j.tasks_at_once - n.at_once, 0)
                  or j.by_task and exists (
                      select from helio.dependencies d
                      left join helio.job_state o on o.job_id = d.on_job and o.task = d.on_task
                      where d.job_id = w.job_id and d.on_task = n.task and d.after = 4
                        and not helio.state_is_over(coalesce(o.state, 0::smallint)))
                then 'Gated' else coalesce(j.reason, n.reason, 'Queued') end as reason, count(*) as tasks
    from (
        select s.state, s.reason, coalesce(s.has_copies, false) as has_copies, task,
            -- of a task that has no state: how many of these there are up to it
            case when s.state is null then count(*) filter (where s.state is null) over (order by t.place rows unbounded preceding) end as before,
            count(*) filter (where s.state between 0 and 7 and not (s.state = 0 and s.has_copies)) over () as at_once
        from unnest(coalesce(j.tasks, '{-1}'::integer[])) with ordinality as t (task, place)
        full join (select o.task, o.state, o.reason, helio.has_copies(o.details) as has_copies from helio.job_state o
                   where o.job_id = w.job_id offset 0) s using (task)
    ) n
    where coalesce(n.state, 0) = 0
    group by 1
    offset 0
) t
group by j.tenant, j.queue, t.reason;

-- Jobs with an open task, among the few that have to be read: what a new leader loads.
create or replace view helio.open_jobs as
select j.job_id
from helio.jobs j
where j.job_id >= helio.open_from()
  and not exists (select from helio.job_state s
                  where s.job_id = j.job_id and s.job_id >= helio.open_from() and s.task = -1
                    and helio.state_is_over(s.state))
  and (j.tasks is null or cardinality(j.tasks) > (select count(*) from helio.job_state s
                                                  where s.job_id = j.job_id and helio.state_is_over(s.state)))
union all
select j.job_id
from helio.unsettled u join helio.jobs j using (job_id)
where coalesce(cardinality(j.tasks), 1) > (select count(*) from helio.job_state s
                                           where s.job_id = j.job_id and helio.state_is_over(s.state));

-- Counts of all tasks ever submitted, by tenant and state: settled tasks are counted already. Of the others both the jobs and their states are a range
-- of the key, but for the few in helio.unsettled.
create or replace view helio.totals_now as
select t.tenant, t.state, t.tasks, t.gpu_ms, t.cost_micro_usd, t.energy_j, t.carbon_mg from helio.totals t
union all
select j.tenant, coalesce(s.state, 0::smallint), count(*), coalesce(sum(s.gpu_ms), 0), coalesce(sum(s.cost_micro_usd), 0),
    coalesce(sum(s.energy_j), 0), coalesce(sum(s.carbon_mg), 0)
from helio.unsettled u
join helio.jobs j using (job_id)
cross join lateral unnest(coalesce(j.tasks, '{-1}'::integer[])) as t (task)
left join helio.job_state s on s.job_id = j.job_id and s.task = t.task
where t.task between -1 and 2147483647 -- every task; with it the planner expects one task per job instead of ten
group by 1, 2
union all
select j.tenant, coalesce(s.state, 0::smallint), count(*), coalesce(sum(s.gpu_ms), 0), coalesce(sum(s.cost_micro_usd), 0),
    coalesce(sum(s.energy_j), 0), coalesce(sum(s.carbon_mg), 0)
from helio.jobs j
cross join lateral unnest(coalesce(j.tasks, '{-1}'::integer[])) as t (task)
left join (select n.job_id, n.task, n.state, n.gpu_ms, n.cost_micro_usd, n.energy_j, n.carbon_mg
           from helio.job_state n where n.job_id >= helio.settled_to() offset 0) s on s.job_id = j.job_id and s.task = t.task
where j.job_id >= helio.settled_to() and t.task between -1 and 2147483647
group by 1, 2;

-- Every principal, once: users by their tokens, sites by their keys. Roles are those in effect now; revoked_at is null while a token
-- or key of the principal is valid.
create or replace view helio.principals_now as
select p.kind, p.name, p.tenant,
    case when p.disabled_at is not null then '{}' when p.kind = 'site' then k.roles else t.roles end as roles, p.created_at,
    case p.kind when 'site' then k.revoked_at else t.revoked_at end as revoked_at, p.disabled_at
from helio.principals p
left join lateral (
    select coalesce(array_agg(distinct t.role order by t.role)
               filter (where t.revoked_at is null and coalesce(t.expires_at > now(), true)), '{}') as roles,
        case when bool_and(t.revoked_at is not null) then max(t.revoked_at) end as revoked_at
    from helio.tokens t where t.principal = p.principal
) t on true
left join lateral (
    select case when bool_or(k.revoked_at is null) then '{site}'::text[] else '{}' end as roles,
        case when bool_and(k.revoked_at is not null) then max(k.revoked_at) end as revoked_at
    from helio.site_keys k where k.principal = p.principal
) k on true;

-- The value of each series in the step that contains now.
create or replace view helio.signals_now as
select n.site, n.pool, n.signal, n.kind, n.factor, n.source, n.estimated, n.issued_at,
    n."values"[1 + floor(date_part('epoch', now() - n.start_at) / n.step_s)::integer] as value
from helio.series_now n
where now() >= n.start_at and now() < n.start_at + make_interval(secs => n.step_s::float8 * cardinality(n."values"));

-- A site's state as people see it. A site without a message for 15 s (it sends one every second, and every fifth is stored) gets no
-- new work: it is shown as silent before its jobs become suspect, after 60 s.
create or replace function helio.site_state_shown(state smallint, draining boolean, seen_at timestamptz) returns text
    language sql stable parallel safe
    return case when draining then 'draining' when state = 1 and seen_at < now() - interval '15 s' then 'silent'
        else helio.site_state_word(state) end;

-- For how long a site has not been heard, where it is shown as silent for that; else null.
create or replace function helio.silent_seconds(of_site text) returns float8 language sql stable
    begin atomic
        select helio.seconds_between(s.seen_at, now())
        from helio.sites s where s.site = of_site and s.seen_at < now() - interval '15 s';
    end;

-- What is known of a job at a site that is silent may be out of date: {"code", "params"} of that detail, in a list. Null where it is not.
create or replace function helio.silence_json(of_site text, state smallint) returns json language sql stable
    begin atomic
        select json_build_array(json_build_object('code', 'SiteSilentFor',
            'params', json_build_object('site', of_site, 'silent_s', ceil(helio.silent_seconds(of_site)))))
        where helio.state_is_live(state) and helio.silent_seconds(of_site) is not null;
    end;

-- One row per site: the sums over its pools, and the signals in effect, otherwise the constants of the site file.
create or replace view helio.sites_now as
select s.site, s.region, s.backend, s.state, s.draining, s.drain_reason, s.seen_at, s.latitude, s.longitude, s.timezone,
    s.containers, s.leases, s.agent_version,
    coalesce((select v.value from helio.signals_now v where v.site = s.site and v.signal = 4 and v.pool = '' limit 1),
             nullif(s.pue, 0)) as pue,
    coalesce((select v.value from helio.signals_now v where v.site = s.site and v.signal = 3
              order by v.kind <> 'average', v.issued_at desc limit 1),
             case when s.carbon_g_per_kwh >= 0 then s.carbon_g_per_kwh end) as carbon_g_per_kwh,
    coalesce((select v.value from helio.signals_now v where v.site = s.site and v.signal = 2
              order by v.issued_at desc limit 1), s.electricity_usd_per_kwh) as electricity_usd_per_kwh,
    c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved, c.jobs_running, c.jobs_queued, c.power_w,
    s.refused, s.refused_at, s.memory_lost_at, s.unreconciled_at
from helio.sites s
left join lateral (
    select sum(n.gpus_total)::integer as gpus_total, sum(n.gpus_allocated)::integer as gpus_allocated,
        sum(n.gpus_free)::integer as gpus_free, sum(n.gpus_reserved)::integer as gpus_reserved,
        sum(n.jobs_running)::integer as jobs_running, sum(n.jobs_queued)::integer as jobs_queued,
        nullif(max(n.site_power_w), -1) as power_w
    from helio.capacity_now n join helio.pools p using (site, pool)
    where n.site = s.site and (p.max_nodes > 0 or p.nodes > 0)
) c on true;

-- One row per pool of today: one that is no longer in the site file has no nodes. The price of a GPU-hour is rent, or the electricity of a GPU at full utilisation.
create or replace view helio.pools_now as
select p.site, p.pool, s.region, s.backend, s.state, s.draining, p.gpu as gpu_model, p.gpu_memory_bytes, p.nodes,
    p.max_nodes, p.gpus_per_node, p.interconnect, p.sharing, p.owned,
    c.at, c.nodes_up, c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved, c.largest_block_gpus, c.jobs_running,
    c.jobs_queued,
    coalesce((select v.value from helio.signals_now v where v.site = p.site and v.signal = 1 and v.pool in (p.pool, '')
              order by v.pool = '', v.issued_at desc limit 1),
             case when p.owned
                 then s.electricity_usd_per_kwh * s.pue * (p.host_w + p.base_w + p.slope_w) / 1000
                 else p.price_usd_per_gpu_h end) as price_usd_per_gpu_h,
    c.withheld, c.withheld_details
from helio.pools p
join helio.sites_now s on s.site = p.site
left join helio.capacity_now c on c.site = p.site and c.pool = p.pool
where p.max_nodes > 0 or p.nodes > 0;

-- ---- ids and JSON, for the broker's reads -----------------------------------------------------------------

-- Jobs that match an id, a prefix or a suffix (at least six characters); at most eleven, enough to report "ambiguous".
create or replace function helio.find_jobs(id text, of_tenant text) returns setof uuid
    language plpgsql stable
    as $$
declare
    word text := translate(lower(split_part(id, '.', 1)), 'ilo', '110');
    wanted bigint := 0;
begin
    if length(word) in (26, 36) then
        return query select j.job_id from helio.jobs j
            where j.job_id = helio.job_uuid(id) and (of_tenant is null or j.tenant = of_tenant);
        return;
    end if;
    if word !~ '^[0-9a-hjkmnp-tv-z]{6,25}$' then
        return;
    end if;
    for i in reverse 5..0 loop
        wanted := wanted * 32 + strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(word, length(word) - i, 1)) - 1;
    end loop;
    return query
        (select j.job_id from helio.jobs j
         where j.job_id between helio.id_bound(word, '0') and helio.id_bound(word, 'z')
           and (of_tenant is null or j.tenant = of_tenant)
         order by j.job_id limit 11)
        union
        (select j.job_id
         from (select o.job_id from helio.maybe_open o where helio.id_tail(o.job_id) = wanted::integer
               union
               select t.job_id from helio.job_tails t where t.tail = wanted::integer) f
         join helio.jobs j using (job_id)
         where helio.job_text(j.job_id, -1) like '%' || word and (of_tenant is null or j.tenant = of_tenant)
         order by j.job_id limit 11);
end
$$;

create or replace function helio.labels_json(job uuid) returns json language sql stable
    return (select coalesce(json_object_agg(l.key, l.value order by l.key), '{}') from helio.labels l where l.job_id = job);

create or replace function helio.task_object(t helio.tasks_now) returns json language sql stable
    return json_build_object(
        'id', helio.job_text((t).job_id, (t).task),
        'name', (t).name,
        'tenant', (t).tenant,
        'user', (t).user_name,
        'queue', (t).queue,
        'priority', (t).priority,
        'kind', helio.kind_word((t).kind),
        'tier', helio.tier_word((t).tier),
        'state', helio.state_word((t).state),
        'site', (t).site,
        'pool', (t).pool,
        'home_site', (t).home_site,
        'epoch', (t).epoch,
        'attempts', (t).attempts,
        'submitted_at', helio.rfc3339((t).submitted_at),
        'started_at', helio.rfc3339((t).started_at),
        'finished_at', helio.rfc3339((t).finished_at),
        'exit_code', (t).exit_code,
        'gpus', (t).gpus,
        'nodes', (t).nodes,
        'gpu_model', (t).gpu_model,
        'time_limit_s', (t).time_limit_ms / 1000,
        'gpu_seconds', (t).gpu_seconds,
        'cost_usd', (t).cost_usd,
        'energy_kwh', (t).energy_kwh,
        'carbon_g', (t).carbon_g,
        'units_done', (t).units_done,
        'wait_seconds', helio.seconds_between((t).submitted_at, coalesce((t).started_at, (t).finished_at, now())),
        'run_seconds', (t).run_seconds,
        'saved_seconds', (t).saved_seconds,
        'reason', (t).reason,
        'detail', (t).detail,
        'details', (t).details,
        'expected_start', helio.rfc3339((t).expected_at),
        'labels', helio.labels_json((t).job_id));

-- The submission is not a transition, but is listed first.
create or replace function helio.history_json(job uuid, of_task integer) returns json language sql stable
    begin atomic
        select json_agg(h.entry order by h.seq)
        from (select 0 as seq, json_build_object('time', helio.rfc3339(j.submitted_at), 'epoch', 0, 'from', null,
                         'to', 'queued', 'reason', null, 'details', null, 'actor', helio.user_principal(j.tenant, coalesce(j.user_name, ''))) as entry
              from helio.jobs j where j.job_id = job
              union all
              select t.seq, json_build_object('time', helio.rfc3339(t.at), 'epoch', t.epoch,
                         'from', helio.state_word(t.from_state), 'to', helio.state_word(t.to_state), 'reason', t.reason,
                         'details', t.details, 'actor', t.actor)
              from helio.transitions t
              where t.job_id = job and t.task in (of_task, -1)) h;
    end;

-- The edits of a job in order: a list of {time, actor, field, from, to}.
create or replace function helio.edits_json(job uuid) returns json language sql stable
    begin atomic
        select coalesce(json_agg(json_build_object('time', helio.rfc3339(e.at), 'actor', e.actor, 'field', e.field,
            'from', e.before, 'to', e.after) order by e.seq, e.place), '[]')
        from helio.edited e where e.job_id = job;
    end;

create or replace function helio.task_json(job uuid, of_task integer) returns text language sql stable
    begin atomic
        select left(helio.task_object(t)::text, -1) || ', "silence_details" : '
            || coalesce(helio.silence_json(t.site, t.state)::text, 'null') || ', "edits" : ' || helio.edits_json(job)::text
            || ', "history" : ' || helio.history_json(job, of_task)::text || '}'
        from helio.tasks_now t where t.job_id = job and t.task = of_task;
    end;

-- An array as a whole: the sums over its tasks, and one state for all of them.
create or replace function helio.array_json(job uuid) returns text language sql stable
    begin atomic
        select json_build_object(
            'id', helio.job_text(a.job_id, -1), 'name', a.name, 'tenant', a.tenant, 'user', a.user_name, 'queue', a.queue,
            'priority', a.priority, 'kind', helio.kind_word(a.kind), 'tier', helio.tier_word(a.tier),
            'state', case
                when a.live > 0 then 'running'
                when a.queued > 0 then 'queued'
                when a.held > 0 then 'held'
                when a.failed > 0 then 'failed'
                when a.timeout > 0 then 'timeout'
                when a.lost > 0 then 'lost'
                when a.cancelled > 0 then 'cancelled'
                else 'succeeded' end,
            'site', a.site, 'pool', null, 'home_site', a.home_site, 'epoch', a.epoch, 'attempts', a.attempts,
            'submitted_at', helio.rfc3339(a.submitted_at), 'started_at', helio.rfc3339(a.started_at),
            'finished_at', case when a.live + a.queued + a.held = 0 then helio.rfc3339(a.finished_at) end,
            'exit_code', case when a.live + a.queued + a.held = 0 then a.exit_code end,
            'gpus', a.gpus, 'nodes', a.nodes, 'gpu_model', a.gpu_model, 'time_limit_s', a.time_limit_ms / 1000,
            'gpu_seconds', a.gpu_seconds, 'cost_usd', a.cost_usd, 'energy_kwh', a.energy_kwh, 'carbon_g', a.carbon_g,
            'units_done', a.units_done,
            'wait_seconds', helio.seconds_between(a.submitted_at, coalesce(a.started_at, now())),
            'run_seconds', a.run_seconds,
            'saved_seconds', a.saved_seconds,
            'reason', a.reason, 'detail', case when a.reason = 'Gated' then a.detail end,
            'details', case when a.reason = 'Gated' then a.details end, 'tasks_total', a.total,
            'tasks', (select json_object_agg(helio.state_word(s.state), s.tasks order by s.state)
                      from (select n.state, count(*) as tasks from helio.tasks_now n where n.job_id = job
                            group by n.state) s),
            'labels', helio.labels_json(job), 'edits', helio.edits_json(job), 'history', '[]'::json)::text
        from (select t.job_id, t.name, t.tenant, t.user_name, t.queue, t.priority, t.kind, t.tier, t.home_site, t.gpus, t.nodes,
                  t.time_limit_ms, t.submitted_at, count(*) as total,
                  count(*) filter (where t.state between 1 and 7) as live, count(*) filter (where t.state = 0) as queued,
                  count(*) filter (where t.state = 13) as held, count(*) filter (where t.state = 9) as failed,
                  count(*) filter (where t.state = 10) as timeout, count(*) filter (where t.state = 11) as cancelled,
                  count(*) filter (where t.state = 12) as lost,
                  case when count(distinct t.site) = 1 then max(t.site) end as site, max(t.epoch) as epoch,
                  max(t.attempts) as attempts, min(t.started_at) as started_at, max(t.finished_at) as finished_at,
                  max(t.exit_code) as exit_code, max(t.gpu_model) as gpu_model, sum(t.gpu_seconds) as gpu_seconds,
                  sum(t.cost_usd) as cost_usd, sum(t.energy_kwh) as energy_kwh, sum(t.carbon_g) as carbon_g,
                  helio.bounded(sum(t.units_done)) as units_done, sum(t.saved_seconds) as saved_seconds,
                  sum(t.run_seconds) as run_seconds,
                  max(t.reason) filter (where t.state = 0) as reason,
                  max(t.detail) filter (where t.reason = 'Gated') as detail,
                  (array_agg(t.details) filter (where t.reason = 'Gated'))[1] as details
              from helio.tasks_now t where t.job_id = job
              group by t.job_id, t.name, t.tenant, t.user_name, t.queue, t.priority, t.kind, t.tier, t.home_site, t.gpus, t.nodes,
                  t.time_limit_ms, t.submitted_at) a;
    end;

-- The states of an array's tasks: {"tasks", "waiting", "states": {word: tasks}}.
create or replace function helio.array_states_json(job uuid) returns text language sql stable
    begin atomic
        select json_build_object('tasks', coalesce(sum(s.tasks), 0), 'waiting',
            coalesce(sum(s.tasks) filter (where s.state in (0, 13)), 0),
            'states', json_object_agg(helio.state_word(s.state), s.tasks order by s.state))::text
        from (select n.state, count(*) as tasks from helio.tasks_now n where n.job_id = job group by n.state) s;
    end;

-- The decision that explains a job: that of the newest placement; for a pending job, that of its class. Placements share a decision while
-- its best pool fills up: the chosen pool is the placement's; the decision's own pool, if different, was the first choice. A pending job
-- has chosen nothing except an hour, and a held one (13) nothing any more; the starts of other jobs of its class are not its own.
create or replace function helio.explain_json(job uuid, of_task integer) returns text language sql stable
    begin atomic
        select json_build_object(
            'id', helio.job_text(t.job_id, t.task), 'name', t.name, 'state', helio.state_word(t.state),
            'reason', t.reason, 'detail', t.detail, 'details', t.details, 'site', t.site, 'pool', t.pool, 'epoch', t.epoch,
            'attempts', t.attempts, 'submitted_at', helio.rfc3339(t.submitted_at),
            'expected_start', helio.rfc3339(t.expected_at),
            'decided_at', helio.rfc3339(d.at), 'policy_version', d.policy_version,
            'forecast_issued_at', helio.rfc3339(d.forecast_at),
            'chosen', case when t.state not in (0, 13) then placed.site when t.reason = 'WaitingForWindow' then d.chosen_site end,
            'chosen_pool', case when t.state not in (0, 13) then placed.pool
                when t.reason = 'WaitingForWindow' then d.chosen_pool end,
            'first_choice', case when t.state not in (0, 13) and (placed.site, placed.pool) <> (d.chosen_site, d.chosen_pool)
                then d.chosen_site end,
            'first_choice_pool', case when t.state not in (0, 13) and (placed.site, placed.pool) <> (d.chosen_site, d.chosen_pool)
                then d.chosen_pool end,
            'time_limit_s', t.time_limit_ms / 1000.0::float8,
            'run', (select json_build_object('duration_s', coalesce(placed.expected_ms, best.run_ms) / 1000.0::float8,
                        'duration_p90_s', coalesce(placed.expected_high_ms, best.run_high_ms) / 1000.0::float8,
                        'runs', j.expected_runs, 'failed', j.expected_failed,
                        'basis', helio.duration_basis_word(j.expected_basis),
                        'of', helio.duration_of(j.expected_basis, j.name, j.user_name, j.kind))
                    from helio.jobs j
                    left join lateral (select c.run_ms, c.run_high_ms from helio.candidates c
                        where c.decision_id = d.decision_id and c.run_ms is not null order by c.rank limit 1) best on true
                    where j.job_id = t.job_id and j.expected_basis is not null),
            'candidates', coalesce((
                select json_agg(json_build_object('site', c.site, 'pool', c.pool,
                    'start', case when t.state <> 0 or d.reason <> '' then helio.rfc3339(c.start_at) end,
                    'score_usd', c.score_micro_usd / 1000000.0::float8,
                    'cost_usd', (c.cost_micro_usd + c.egress_micro_usd) / 1000000.0::float8,
                    'energy_kwh', (c.energy_j + c.transfer_j) / 3600000.0::float8,
                    'carbon_g', (c.carbon_mg + c.transfer_carbon_mg) / 1000.0::float8,
                    'transfer_s', c.transfer_ms / 1000.0::float8, 'egress_usd', c.egress_micro_usd / 1000000.0::float8,
                    'terms', json_build_object('money', c.cost_micro_usd / 1000000.0::float8,
                        'carbon', c.carbon_micro_usd / 1000000.0::float8, 'wait', c.wait_micro_usd / 1000000.0::float8,
                        'risk', c.risk_micro_usd / 1000000.0::float8, 'shadow', c.shadow_micro_usd / 1000000.0::float8,
                        'disruption', c.move_micro_usd / 1000000.0::float8,
                        'transfer', c.transfer_micro_usd / 1000000.0::float8,
                        'move', c.move_micro_usd / 1000000.0::float8), -- deprecated: the former name of disruption
                    'duration_s', c.run_ms / 1000.0::float8, 'duration_p90_s', c.run_high_ms / 1000.0::float8,
                    'reason', c.rejected_reason, 'detail', coalesce(c.detail, helio.rejection_sentence(c.rejected_reason)),
                    'details', c.details) order by c.rank)
                from helio.candidates c where c.decision_id = d.decision_id), '[]'::json),
            'silence_details', helio.silence_json(t.site, t.state),
            'edits', helio.edits_json(t.job_id), 'history', helio.history_json(t.job_id, t.task))::text
        from helio.tasks_now t
        left join lateral (
            select p.decision_id, p.site, p.pool, p.expected_ms, p.expected_high_ms
            from helio.placements p
            where p.job_id = t.job_id and p.task = t.task and t.state <> 0 order by p.epoch desc limit 1
        ) placed on true
        left join helio.decisions d
            on d.decision_id = case when t.state <> 0 then placed.decision_id else t.waiting_decision_id end
        where t.job_id = job and t.task = of_task;
    end;

-- One row per budget, with the amounts used and committed in the current period, in the budget's own integers. The broker decides by the
-- same figures (broker/core/state/budgets.c): the ledger, and for each job at a site the estimate made at its placement, spread evenly over its
-- expected run time, then over its p90, then over its limit. used has the part until now, committed the rest that falls into the period.
-- A budget for each tenant in a queue applies to every tenant without a budget of its own there.
create or replace view helio.budgets_now as
with known as (
    select tenant from helio.tenants union select tenant from helio.tokens
), wanted as (
    select b.tenant, b.queue, b.kind, b.period, b.amount, false as of_each
    from helio.budgets b where b.tenant <> '*' and b.period > 0
    union all
    select k.tenant, e.queue, e.kind, e.period, e.amount, true
    from helio.budgets e cross join known k
    where e.tenant = '*' and e.period > 0 and not exists (select from helio.budgets o
        where o.tenant = k.tenant and o.queue = e.queue and o.kind = e.kind)
), named as materialized (
    select w.*, date_trunc(helio.period_word(w.period), now(), 'UTC') as begins_at,
        (date_trunc(helio.period_word(w.period), now() at time zone 'UTC') + ('1 ' || helio.period_word(w.period))::interval)
            at time zone 'UTC' as ends_at
    from wanted w
), booked as (
    select n.tenant, n.queue, n.kind,
        sum(case n.kind when 0 then d.gpu_ms when 1 then d.charged_micro_usd else d.carbon_mg end) as amount
    from named n join helio.ledger_days d on d.tenant = n.tenant and (n.queue = '' or d.queue = n.queue) and d.day >= n.begins_at
        and d.day < n.ends_at
    group by 1, 2, 3
), placed as (
    select j.tenant, j.queue, array [p.gpus * l.run_ms::numeric, greatest(p.planned_cost_micro_usd, 0), p.planned_carbon_mg] as amounts,
        l.run_ms, l.began, l.start_at, l.high_ms, coalesce(e.time_limit_ms, j.time_limit_ms) as time_limit_ms,
        case when l.began then extract(epoch from now() - l.start_at) * 1000 else 0 end as passed_ms
    from helio.maybe_open o
    join helio.job_state s on s.job_id = o.job_id
    join helio.placements p on p.job_id = s.job_id and p.task = s.task and p.epoch = s.epoch
    join helio.jobs j on j.job_id = s.job_id
    left join helio.edits e on e.job_id = s.job_id
    cross join lateral (
        select coalesce(nullif(p.expected_ms, 0), e.time_limit_ms, j.time_limit_ms) as run_ms, coalesce(p.expected_high_ms, 0) as high_ms,
            s.started_at is not null and s.state >= 4 as began,
            greatest(case when s.state >= 4 then least(s.started_at, now()) else now() end,
                p.start_at + p.transfer_ms * interval '1 millisecond') as start_at
    ) l
    where helio.state_is_live(s.state)
      and j.tenant in (select n.tenant from named n)
), live as (
    select p.*, p.start_at + interval '1 millisecond' * case when p.passed_ms < p.run_ms then p.run_ms
        when p.passed_ms < p.high_ms then p.high_ms when p.passed_ms < p.time_limit_ms then p.time_limit_ms
        else p.passed_ms + 600000 end as end_at
    from placed p
), foreseen as (
    select n.tenant, n.queue, n.kind,
        sum(trunc(v.amounts[n.kind + 1] * greatest(extract(epoch from least(v.end_at, n.ends_at, now())
            - greatest(v.start_at, n.begins_at)), 0) * 1000 / greatest(v.run_ms, 1))) as used,
        sum(trunc(v.amounts[n.kind + 1] * greatest(extract(epoch from least(v.end_at, n.ends_at)
            - greatest(v.start_at, n.begins_at, now())), 0) * 1000 / greatest(v.run_ms, 1))) as committed
    from named n join live v on v.tenant = n.tenant and (n.queue = '' or v.queue = n.queue)
    group by 1, 2, 3
)
select n.tenant, n.queue, n.kind, n.period, n.of_each, n.begins_at, n.ends_at, n.amount,
    (coalesce(b.amount, 0) + coalesce(f.used, 0))::numeric as used, coalesce(f.committed, 0)::numeric as committed
from named n
left join booked b using (tenant, queue, kind)
left join foreseen f using (tenant, queue, kind);
