-- What a new leader reads: the columns are the record's fields in order (broker/model/rows.h), a KEY is two. Times go
-- out as Unix milliseconds, nulls as '' and 0.

-- name: load_federation
select f.incarnation, f.broker_epoch,
    coalesce((select max(t.seq) from helio.transitions t), 0),
    coalesce((select max(d.decision_id) from helio.decisions d), 0),
    f.seed,
    coalesce((select j.job_id from helio.jobs j order by j.job_id desc limit 1), '00000000-0000-0000-0000-000000000000'),
    greatest(helio.time_ms(f.leases_until) - helio.time_ms(now()), 0),
    coalesce(helio.time_ms(case when f.restored_at > now() - interval '1 day' then f.restored_at end), 0),
    coalesce(f.restored_job, '00000000-0000-0000-0000-000000000000')
from helio.federation f

-- name: load_tenant
-- Tokens did not always make their tenant's row.
select tenant, max(coalesce(home_site, '')), false
from (select tenant, home_site from helio.tenants union all select tenant, null from helio.tokens) as known
group by tenant order by tenant

-- name: load_queue
select queue, priority, tier::int4, time_limit_ms, false from helio.queues order by queue

-- name: load_overflow
select name, queue, tenant, steps, helio.time_ms(set_at), false from helio.overflows order by name

-- name: load_queue_rule
select queue, region, schedule, zone, zone_data, priority, helio.time_ms(until_at), helio.time_ms(set_at), holds, false
from helio.queue_rules order by queue, region, schedule, zone

-- name: load_quota
select tenant, queue, guaranteed_gpus, coalesce(burst_gpus, 2147483647), weight_milli, helio.time_ms(set_at)
from helio.quotas order by tenant, queue

-- name: load_budget
select tenant, queue, kind::int4, amount, period::int4, helio.time_ms(set_at) from helio.budgets order by tenant, queue, kind

-- name: load_spent
-- What was spent in the days of the periods that are, by this clock or one that is a day behind: the core sorts them.
select d.tenant, d.queue, helio.time_ms(d.day), d.gpu_ms, d.charged_micro_usd, d.carbon_mg
from helio.ledger_days d
where d.day >= least(date_trunc('month', now(), 'UTC'), date_trunc('week', now(), 'UTC')) - interval '1 day' and d.tenant <> ''
order by d.tenant, d.queue, d.day

-- name: load_usage
-- Use of the last $1 milliseconds, by tenant, GPU model and hour.
select l.tenant, coalesce(l.gpu_model, ''), helio.time_ms(l.hour), helio.bounded(sum(l.gpu_ms))
from helio.ledger l
where l.hour >= now() - $1::bigint * interval '1 millisecond' and l.tenant <> ''
group by l.tenant, l.gpu_model, l.hour
order by l.tenant, l.hour, l.gpu_model

-- name: load_data
select prefix, array_to_string(sites, ' '), helio.time_ms(set_at), tenant from helio.data order by prefix

-- name: load_link
select from_site, to_site, false, mbps, egress_micro_usd_per_gb, rtt_ms, helio.time_ms(set_at)
from helio.links order by from_site, to_site

-- name: load_site
select site, state::int4, draining, coalesce(drain_reason, ''), coalesce(backend, ''), coalesce(region, ''), latitude,
    longitude, coalesce(timezone, ''), pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases,
    coalesce(agent_version, ''), helio.time_ms(seen_at), coalesce(refused, ''), helio.time_ms(refused_at),
    coalesce(memory_since_ms, 0), coalesce(memory_mark, 0), helio.time_ms(memory_lost_at),
    helio.time_ms(unreconciled_at),
    coalesce(agent_process, ''), awaited_by::int4
from helio.sites order by site

-- name: load_pool
select site, pool, coalesce(gpu, ''), gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node,
    memory_bytes_per_node, interconnect::int4, sharing::int4, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w
from helio.pools order by site, pool

-- name: load_curtailment
select site, helio.time_ms(set_at), helio.time_ms(from_at), helio.time_ms(until_at), percent::int4, coalesce(reason, ''),
    actor, helio.time_ms(ended_at), helio.time_ms(judged_at), full_w, used_w, kept_w, jobs_stopped, lost_gpu_ms
from helio.curtailments c
where (ended_at is null and until_at > now()) or set_at = (select max(l.set_at) from helio.curtailments l where l.site = c.site)
order by site, set_at

-- name: load_key
-- Keys of jobs that are over: those of open jobs come with the jobs.
select j.tenant, j.idempotency_key, j.spec_hash, j.job_id
from helio.jobs j
where j.idempotency_key is not null and not exists (select from helio.open_jobs o where o.job_id = j.job_id)

-- name: load_job
select j.job_id, j.tenant, coalesce(j.user_name, ''), coalesce(j.idempotency_key, ''), j.spec_hash, j.source,
    coalesce(j.name, ''), j.queue, j.tier::int4, j.kind::int4, coalesce(j.home_site, ''), coalesce(j.gpu_model, ''),
    j.gpus, j.nodes, j.time_limit_ms, j.class_id, coalesce(j.tasks, '{}'), helio.time_ms(j.submitted_at),
    coalesce(j.expected_ms, 0), coalesce(j.expected_high_ms, 0), coalesce(j.expected_runs, 0), coalesce(j.expected_failed, 0),
    coalesce(j.expected_basis, 0)::int4, coalesce(j.tasks_at_once, 0),
    coalesce(j.on_site_loss, 0)::int4, coalesce(j.goal, 0)::int4, coalesce(j.flexible_ms, 0), helio.time_ms(j.deadline_at)
from helio.open_jobs o join helio.jobs j using (job_id)
order by o.job_id

-- name: load_edit
select e.job_id, e.priority, e.goal::int4, e.prices_set, helio.time_ms(e.deadline_at), e.flexible_ms, e.max_cost_micro_usd,
    e.max_carbon_mg_per_kwh, e.queue, e.tier::int4, e.class_id, helio.time_ms(e.at), coalesce(e.time_limit_ms, 0)
from helio.edits e join helio.open_jobs o using (job_id)
order by e.job_id

-- name: load_state
select s.job_id, s.task, s.state::int4, s.before::int4, s.intent::int4, s.epoch, s.attempts, s.failures, s.site_failures,
    coalesce(s.site, ''), coalesce(s.pool, ''), coalesce(coalesce(s.details, helio.stated(s.reason))::text, ''),
    helio.time_ms(s.started_at), helio.time_ms(s.finished_at), coalesce(s.exit_code, -1), s.gpu_ms, s.cost_micro_usd, s.energy_j,
    s.carbon_mg, s.units_done, helio.time_ms(s.at), s.evictions, s.saved_ms, s.moves,
    s.losses, s.haste::int4
from helio.open_jobs o join helio.job_state s using (job_id)
order by s.job_id, s.task

-- name: load_waiting
-- Dependencies of open jobs: 2 = what is waited for is open too, 3 = it succeeded, 4 = it ended otherwise.
with waiting as materialized (
    select d.job_id, d.place, d.after, d.on_job, d.on_task from helio.open_jobs o join helio.dependencies d using (job_id)
), ends as materialized (
    select w.on_job, w.on_task, helio.ended_well(w.on_job, w.on_task) as well
    from (select distinct on_job, on_task from waiting) w
)
select w.job_id, w.after::int4, w.on_job, w.on_task, case when e.well is null then 2 when e.well then 3 else 4 end
from waiting w join ends e using (on_job, on_task)
order by w.job_id, w.place

-- name: load_ended_hold
-- Dependency holds that ended: a begin that has come stays come, whatever this leader's clock shows.
select g.job_id from helio.open_jobs o join helio.gates g using (job_id) where g.opened_at is not null order by g.job_id

-- name: load_earliest_start
select p.job_id, p.task, p.least_site, coalesce(p.least_pool, ''), helio.time_ms(p.least_at)
from helio.open_jobs o join helio.placements p using (job_id)
where p.least_site is not null
order by p.job_id, p.task

-- name: load_transfer
select p.job_id, p.task, p.epoch, p.transfer_ms, p.transfer_micro_usd, p.transfer_j, p.transfer_carbon_mg
from helio.open_jobs o join helio.job_state s using (job_id)
join helio.placements p on p.job_id = s.job_id and p.task = s.task and p.epoch = s.epoch
where p.transfer_ms > 0 or p.transfer_micro_usd > 0 or p.transfer_j > 0
order by p.job_id, p.task

-- name: load_expected_use
-- Of every attempt of the jobs that are open: the newest is what is committed, the others tell which ends are booked.
select p.job_id, p.task, p.epoch, exists (select from helio.attempts a where a.job_id = p.job_id and a.task = p.task
        and a.epoch = p.epoch and a.run_ms > 0), helio.time_ms(p.start_at), p.transfer_ms, coalesce(p.expected_ms, 0),
    coalesce(p.expected_high_ms, 0), p.planned_cost_micro_usd, p.planned_carbon_mg
from helio.open_jobs o join helio.placements p using (job_id)
order by p.job_id, p.task, p.epoch

-- name: load_actual
-- As far back as hours are kept (federation/policy/history.h).
select a.site, a.pool, a.signal::int4, helio.time_ms(a.hour), a.value, a.kind, coalesce(a.factor, ''),
    coalesce(a.source, ''), a.estimated, helio.time_ms(a.issued_at), coalesce(a.feed_state, 0)::int4, helio.time_ms(a.last_value_at)
from helio.actuals a join helio.sites s using (site)
where a.hour >= now() - interval '168 hours'
order by a.site, a.signal, a.pool, a.hour

-- name: load_series
-- The newest issue of what hours are priced by; of several kinds the last issued counts.
select n.site, n.pool, n.signal::int4, n.kind, coalesce(n.factor, ''), coalesce(n.source, ''), n.estimated,
    helio.time_ms(n.issued_at), helio.time_ms(n.start_at), n.step_s, n."values", '{}'::float8[], '{}'::float8[],
    coalesce(n.feed_state, 0)::int4, helio.time_ms(n.last_value_at)
from helio.series_now n join helio.sites s using (site)
where n.signal between 1 and 4
order by n.site, n.signal, n.pool, n.issued_at

-- name: load_run
-- Jobs that were over with their first attempt, in the order of their ends: HELIO_DURATION_HISTORY of them. What a leader
-- learnt before that is forgotten with it.
select j.tenant, coalesce(j.user_name, ''), coalesce(j.name, ''), j.kind::int4, coalesce(p.gpu_model, ''), a.run_ms,
    t.to_state in (8, 10), j.gpus, coalesce(e.time_limit_ms, j.time_limit_ms)
from (
    select seq, job_id, task, to_state from helio.transitions
    where epoch = 1 and to_state between 8 and 12
    order by seq desc limit 20000
) t
join helio.attempts a on a.job_id = t.job_id and a.task = t.task and a.epoch = 1 and a.completes and a.run_ms > 0
join helio.placements p on p.job_id = t.job_id and p.task = t.task and p.epoch = 1
join helio.jobs j on j.job_id = t.job_id
left join helio.edits e on e.job_id = t.job_id
order by t.seq

-- name: load_class
-- The start that a class waits for is among the details of its row. A class without jobs keeps its last row: it is passed over.
select c.class_id, coalesce(c.tenant, ''), coalesce(c.queue, ''), coalesce(c.summary, ''), c.reason, c.details::text, c.decision_id,
    coalesce(helio.time_ms(c.at), 0), helio.time_ms(c.expected_at)
from helio.classes c
where c.reason = 'WaitingForWindow' and c.details is not null and c.expected_at > now() - interval '48 hours'
order by c.class_id

-- name: load_given_up
-- What attempts can have used at most whose estimates follow, for as many as the core keeps. One without a placement is not
-- among them, and keeps its estimate. Of the open jobs also those that nobody saw run, and whose ends can still be told.
select g.job_id, g.task, g.epoch, g.site, g.nodes, g.gpus, coalesce(e.time_limit_ms, j.time_limit_ms), helio.time_ms(g.placed_at), j.tenant,
    coalesce(e.queue, j.queue), coalesce(g.pool, ''), coalesce(g.gpu_model, ''), g.planned_micro_usd,
    coalesce(nullif(g.expected_ms, 0), e.time_limit_ms, j.time_limit_ms)
from (
    (select a.at, a.job_id, a.task, a.epoch, a.site, p.nodes, p.gpus, p.at as placed_at, p.pool, p.gpu_model,
        p.planned_cost_micro_usd - p.transfer_micro_usd as planned_micro_usd, p.expected_ms
     from helio.attempts a join helio.placements p using (job_id, task, epoch)
     where a.basis = 1 and a.at > now() - interval '35 days'
     order by a.at desc limit 50000)
    union all
    (select p.at, p.job_id, p.task, p.epoch, p.site, p.nodes, p.gpus, p.at, p.pool, p.gpu_model,
        p.planned_cost_micro_usd - p.transfer_micro_usd, p.expected_ms
     from helio.open_jobs o join helio.job_state s using (job_id) join helio.placements p on p.job_id = s.job_id and p.task = s.task
     where (p.epoch < s.epoch or s.state not between 1 and 7) and p.at > now() - interval '35 days'
       and not exists (select from helio.attempts a where a.job_id = p.job_id and a.task = p.task and a.epoch = p.epoch)
     order by p.at desc limit 50000)
) g
join helio.jobs j using (job_id) left join helio.edits e using (job_id)
order by g.at, g.job_id, g.task, g.epoch

-- name: load_estimate
-- What was charged for attempts that were given up, for which no site has reported an end: as many hours as the core keeps, and not
-- of attempts that are so old that no site knows them any more.
select l.job_id, l.task, l.epoch, l.tenant, l.site, coalesce(l.pool, ''), coalesce(l.gpu_model, ''), coalesce(l.queue, ''),
    helio.time_ms(l.hour), l.gpu_ms, l.energy_j, l.carbon_mg, l.cost_micro_usd, coalesce(l.provenance, ''), l.fenced,
    coalesce(l.rates_id, 0), l.estimated, l.part::int4
from (
    select a.at, e.*
    from helio.attempts a join helio.ledger e using (job_id, task, epoch)
    where a.basis = 1 and a.at > now() - interval '35 days' and e.part = 2
    order by a.at desc limit 100000
) l
order by l.at, l.job_id, l.task, l.epoch, l.hour

-- name: load_taken
-- The next three are read for a snapshot alone (broker/snapshot).
select helio.time_ms(now())

-- name: load_capacity
select c.site, c.pool, helio.time_ms(c.at), false, c.nodes_up, c.gpus_total, c.gpus_allocated, c.gpus_free, c.gpus_reserved,
    c.largest_block_gpus, c.jobs_running, c.jobs_queued, coalesce(c.site_power_w, -1), coalesce(c.withheld_details::text, '')
from helio.capacity_now c
order by c.site, c.pool

-- name: load_ahead
select n.site, n.pool, n.signal::int4, n.kind, coalesce(n.factor, ''), coalesce(n.source, ''), n.estimated,
    helio.time_ms(n.issued_at), helio.time_ms(n.start_at), n.step_s, n."values", coalesce(n.p10, '{}'), coalesce(n.p90, '{}'),
    coalesce(n.feed_state, 0)::int4, helio.time_ms(n.last_value_at)
from helio.series_now n join helio.sites s using (site)
order by n.site, n.signal, n.pool, n.kind

-- name: load_past
-- The next five are read for a snapshot of the last $1 hours.
select helio.time_ms(now() - $1::integer * interval '1 hour'), helio.time_ms(now())

-- name: load_past_actual
select a.site, a.pool, a.signal::int4, helio.time_ms(a.hour), a.value, a.kind, coalesce(a.factor, ''),
    coalesce(a.source, ''), a.estimated, helio.time_ms(a.issued_at), coalesce(a.feed_state, 0)::int4, helio.time_ms(a.last_value_at)
from helio.actuals a join helio.sites s using (site)
where a.hour < now() - $1::integer * interval '1 hour' and a.hour >= now() - $1::integer * interval '1 hour' - interval '168 hours'
order by a.site, a.signal, a.pool, a.hour

-- name: load_past_series
select n.site, n.pool, n.signal::int4, n.kind, coalesce(n.factor, ''), coalesce(n.source, ''), n.estimated,
    helio.time_ms(n.issued_at), helio.time_ms(n.start_at), n.step_s, n."values", coalesce(n.p10, '{}'), coalesce(n.p90, '{}'),
    coalesce(n.feed_state, 0)::int4, helio.time_ms(n.last_value_at)
from helio.series n join helio.sites s using (site)
where n.issued_at >= now() - $1::integer * interval '1 hour' - interval '6 hours' and n.signal between 1 and 4
order by n.site, n.signal, n.pool, n.kind, n.issued_at

-- name: load_past_job
-- What ended after a run in that time, and what is open; with the time limit that it ran with.
select j.job_id, j.tenant, coalesce(j.user_name, ''), coalesce(j.idempotency_key, ''), j.spec_hash, j.source,
    coalesce(j.name, ''), j.queue, j.tier::int4, j.kind::int4, coalesce(j.home_site, ''), coalesce(j.gpu_model, ''),
    j.gpus, j.nodes, coalesce(e.time_limit_ms, j.time_limit_ms), j.class_id, coalesce(j.tasks, '{}'), helio.time_ms(j.submitted_at),
    coalesce(j.expected_ms, 0), coalesce(j.expected_high_ms, 0), coalesce(j.expected_runs, 0), coalesce(j.expected_failed, 0),
    coalesce(j.expected_basis, 0)::int4, coalesce(j.tasks_at_once, 0),
    coalesce(j.on_site_loss, 0)::int4, coalesce(j.goal, 0)::int4, coalesce(j.flexible_ms, 0), helio.time_ms(j.deadline_at)
from helio.jobs j left join helio.edits e using (job_id)
where j.job_id in (
    select a.job_id from helio.attempts a
    where a.completes and a.run_ms > 0 and a.at >= now() - $1::integer * interval '1 hour'
    union select o.job_id from helio.open_jobs o)
order by j.job_id

-- name: load_past_run
select a.job_id, a.task,
    greatest(least(a.run_ms, helio.time_ms(a.ended_at) - helio.time_ms(now() - $1::integer * interval '1 hour')), 1)
from helio.attempts a
where a.completes and a.run_ms > 0 and a.at >= now() - $1::integer * interval '1 hour'
order by a.job_id, a.task
