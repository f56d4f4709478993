-- Tasks for lists, newest first. Internal to schema helio: not a stable interface.

-- As helio.tasks_now, without what a queued task waits for in words, and read job by job in the order in which jobs are read: a list of the newest of many
-- jobs walks an index backwards and stops. That is what the union in a lateral subquery is for; in one piece, the planner would read all jobs and sort
-- them. A condition on the state of a task, for example on its end or its site, reaches both parts of the union.
-- Of a job that cannot be open, only tasks that are over are read, which need no reasons of classes, holds and limits.
create or replace view helio.tasks_listed as
select j.job_id, t.task, j.tasks is not null as of_array, j.name, j.tenant, j.user_name, coalesce(t.queue, j.queue) as queue, coalesce(t.tier, j.tier) as tier,
    j.kind, j.home_site, j.gpus, j.nodes, coalesce(t.time_limit_ms, j.time_limit_ms) as time_limit_ms, j.submitted_at, t.state, t.epoch, t.attempts,
    t.site, t.pool, coalesce((select p.gpu from helio.pools p where p.site = t.site and p.pool = t.pool), j.gpu_model) as gpu_model,
    t.started_at, t.finished_at, t.exit_code, t.gpu_seconds, t.cost_usd, t.energy_kwh, t.carbon_g, t.units_done, t.reason, t.before, t.details,
    coalesce(t.goal, j.goal) as goal, coalesce(t.flexible_ms, j.flexible_ms) as flexible_ms,
    case when t.edited then t.deadline_at else j.deadline_at end as deadline_at, j.id_text
from helio.jobs j
cross join lateral (
    select s.task, s.state, s.epoch, s.attempts, s.site, s.pool, s.started_at, s.finished_at, s.exit_code, s.gpu_ms / 1000.0::float8 as gpu_seconds,
        s.cost_micro_usd / 1000000.0::float8 as cost_usd, s.energy_j / 3600000.0::float8 as energy_kwh, s.carbon_mg / 1000.0::float8 as carbon_g,
        s.units_done, s.reason, s.before, s.details, e.queue, e.tier, e.time_limit_ms, e.goal, e.flexible_ms, e.job_id is not null as edited, e.deadline_at
    from helio.job_state s left join helio.edits e on e.job_id = s.job_id
    where s.job_id = j.job_id and helio.state_is_over(s.state)
    union all
    select n.task, n.state, n.epoch, n.attempts, n.site, n.pool, n.started_at, n.finished_at, n.exit_code, n.gpu_seconds, n.cost_usd, n.energy_kwh,
        n.carbon_g, n.units_done, n.reason, n.before, n.details, n.queue, n.tier, n.time_limit_ms, n.goal, n.flexible_ms, true, n.deadline_at
    from helio.tasks_now n
    where n.job_id = j.job_id and not helio.state_is_over(n.state)
      and (j.job_id >= (select helio.open_from()) or j.job_id = any (array (select u.job_id from helio.unsettled u))) -- as helio.maybe_open
) t;
