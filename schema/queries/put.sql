-- One statement per kind of row (broker/model/rows.h): field i is the array parameter $i, a KEY is two (job, task).
-- Times come as Unix milliseconds (0 = null), texts with '' for null, lists as the text of an array literal.
-- Where a row replaces an older one, the last of a batch counts: `distinct on` over the order of arrival.
-- In the hot ones unnest stands in the list of a select and not behind from: there the whole batch would first be copied
-- into a store of tuples, which costs up to a quarter of the statement. The arrays are of one length.

-- name: put_job
-- Empty texts and lists come as nulls here, and the text of the id after everything else (broker/store/batch.c).
insert into helio.jobs (job_id, tenant, user_name, idempotency_key, spec_hash, source, name, queue, tier, kind, home_site,
    gpu_model, gpus, nodes, time_limit_ms, class_id, tasks, submitted_at, expected_ms, expected_high_ms, expected_runs,
    expected_failed, expected_basis, tasks_at_once, on_site_loss, goal, flexible_ms, deadline_at, id_text)
select n.job, n.tenant, n.user_name, n.idempotency_key, n.spec_hash, n.source, n.name, n.queue, n.tier, n.kind, n.home_site,
    n.gpu_model, n.gpus, n.nodes, n.time_limit_ms, n.class_id, n.tasks::int4[], helio.ms_at(n.submitted_ms),
    nullif(n.expected_ms, 0), nullif(n.expected_high_ms, 0), nullif(n.expected_runs, 0),
    case when n.expected_basis > 0 then n.expected_failed end, nullif(n.expected_basis, 0),
    nullif(n.tasks_at_once, 0), n.on_site_loss, n.goal, n.flexible_ms, helio.ms_time(n.deadline_ms), n.id_text
from (
    select unnest($1::uuid[]) as job, unnest($2::text[]) as tenant, unnest($3::text[]) as user_name,
        unnest($4::text[]) as idempotency_key, unnest($5::bytea[]) as spec_hash, unnest($6::bytea[]) as source,
        unnest($7::text[]) as name, unnest($8::text[]) as queue, unnest($9::int4[]) as tier, unnest($10::int4[]) as kind,
        unnest($11::text[]) as home_site, unnest($12::text[]) as gpu_model, unnest($13::int4[]) as gpus,
        unnest($14::int4[]) as nodes, unnest($15::int8[]) as time_limit_ms, unnest($16::int8[]) as class_id,
        unnest($17::text[]) as tasks, unnest($18::int8[]) as submitted_ms, unnest($19::int8[]) as expected_ms,
        unnest($20::int8[]) as expected_high_ms, unnest($21::int4[]) as expected_runs,
        unnest($22::int4[]) as expected_failed, unnest($23::int4[]) as expected_basis,
        unnest($24::int4[]) as tasks_at_once, unnest($25::int4[]) as on_site_loss,
        unnest($26::int4[]) as goal, unnest($27::int8[]) as flexible_ms, unnest($28::int8[]) as deadline_ms,
        unnest($29::text[]) as id_text
) as n

-- name: put_state
-- The batch holds each key once (the store keeps the last). With its first task that is over a job can be found by the end of
-- its id, however old it grows.
-- Ordered, where `not exists` would do: of a table that grew since it was analysed the planner thinks that reading it from its
-- beginning soon finds a match, and does so for each job of the batch. What the key's index has in order it takes from there.
with ended as (
    select distinct n.job
    from (select unnest($1::uuid[]) as job, unnest($3::int4[]) as state) as n
    where helio.state_is_over(n.state::int2)
), noted as (
    insert into helio.job_tails (tail, job_id)
    select helio.id_tail(e.job), e.job
    from ended e
    where (select s.task from helio.job_state s where s.job_id = e.job and helio.state_is_over(s.state) order by s.task limit 1)
        is null
)
insert into helio.job_state as s (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, site, pool,
    reason, details, started_at, finished_at, exit_code, gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done, at,
    evictions, saved_ms, moves, losses, haste)
select n.job, n.task, n.state, n.before, n.intent, n.epoch, n.attempts, n.failures, n.site_failures, nullif(n.site, ''),
    nullif(n.pool, ''), nullif(n.reason, ''), n.details::jsonb, helio.ms_time(n.started_ms), helio.ms_time(n.finished_ms),
    nullif(n.exit_code, -1), n.gpu_ms, n.cost_micro_usd, n.energy_j, n.carbon_mg, n.units_done, helio.ms_time(n.at_ms),
    n.evictions, n.saved_ms, n.moves, n.losses, n.haste
from (
    select unnest($1::uuid[]) as job, unnest($2::int4[]) as task, unnest($3::int4[]) as state,
        unnest($4::int4[]) as before, unnest($5::int4[]) as intent, unnest($6::int4[]) as epoch,
        unnest($7::int4[]) as attempts, unnest($8::int4[]) as failures, unnest($9::int4[]) as site_failures,
        unnest($10::text[]) as site, unnest($11::text[]) as pool, unnest($12::text[]) as reason,
        unnest($13::text[]) as details,
        unnest($14::int8[]) as started_ms, unnest($15::int8[]) as finished_ms, unnest($16::int4[]) as exit_code,
        unnest($17::int8[]) as gpu_ms, unnest($18::int8[]) as cost_micro_usd, unnest($19::int8[]) as energy_j,
        unnest($20::int8[]) as carbon_mg, unnest($21::int8[]) as units_done, unnest($22::int8[]) as at_ms,
        unnest($23::int4[]) as evictions, unnest($24::int8[]) as saved_ms,
        unnest($25::int4[]) as moves, unnest($26::int4[]) as losses, unnest($27::int4[]) as haste
) as n
on conflict (job_id, task) do update set
    state = excluded.state, before = excluded.before, intent = excluded.intent, epoch = excluded.epoch,
    attempts = excluded.attempts, failures = excluded.failures, site_failures = excluded.site_failures,
    site = excluded.site, pool = excluded.pool, reason = excluded.reason, details = excluded.details,
    details_turn = not s.details_turn, started_at = excluded.started_at,
    finished_at = excluded.finished_at, exit_code = excluded.exit_code, gpu_ms = excluded.gpu_ms,
    cost_micro_usd = excluded.cost_micro_usd, energy_j = excluded.energy_j, carbon_mg = excluded.carbon_mg,
    units_done = excluded.units_done, at = excluded.at, evictions = excluded.evictions, saved_ms = excluded.saved_ms,
    moves = excluded.moves, losses = excluded.losses, haste = excluded.haste

-- name: put_placement
insert into helio.placements (job_id, task, epoch, site, pool, decision_id, nodes, gpus, score_micro_usd,
    planned_cost_micro_usd, planned_energy_j, planned_carbon_mg, start_at, at, least_site, least_pool, least_at,
    transfer_ms, transfer_micro_usd, transfer_j, transfer_carbon_mg, gpu_model, expected_ms, expected_high_ms)
select n.job, n.task, n.epoch, n.site, n.pool, n.decision_id, n.nodes, n.gpus, n.score_micro_usd,
    n.planned_cost_micro_usd, n.planned_energy_j, n.planned_carbon_mg, helio.ms_time(n.start_ms), helio.ms_at(n.at_ms),
    nullif(n.least_site, ''), nullif(n.least_pool, ''), helio.ms_time(n.least_ms), n.transfer_ms, n.transfer_micro_usd,
    n.transfer_j, n.transfer_carbon_mg, nullif(n.gpu_model, ''), nullif(n.expected_ms, 0), nullif(n.expected_high_ms, 0)
from (
    select unnest($1::uuid[]) as job, unnest($2::int4[]) as task, unnest($3::int4[]) as epoch, unnest($4::text[]) as site,
        unnest($5::text[]) as pool, unnest($6::int8[]) as decision_id, unnest($7::int4[]) as nodes,
        unnest($8::int4[]) as gpus, unnest($9::int8[]) as score_micro_usd, unnest($10::int8[]) as planned_cost_micro_usd,
        unnest($11::int8[]) as planned_energy_j, unnest($12::int8[]) as planned_carbon_mg, unnest($13::int8[]) as start_ms,
        unnest($14::int8[]) as at_ms, unnest($15::text[]) as least_site, unnest($16::text[]) as least_pool,
        unnest($17::int8[]) as least_ms, unnest($18::int8[]) as transfer_ms, unnest($19::int8[]) as transfer_micro_usd,
        unnest($20::int8[]) as transfer_j, unnest($21::int8[]) as transfer_carbon_mg,
        unnest($22::text[]) as gpu_model, unnest($23::int8[]) as expected_ms, unnest($24::int8[]) as expected_high_ms
) as n

-- name: put_attempt
-- Of several of a batch the one counts that knows most: a correction, then the first.
insert into helio.attempts as a (job_id, task, epoch, site, kind, completes, fenced, exit_code, started_at, ended_at, run_ms,
    gpu_ms, energy_j, units_done, reason, local_id, at, basis)
select distinct on (n.job, n.task, n.epoch) n.job, n.task, n.epoch, n.site, n.kind, n.completes, n.fenced,
    nullif(n.exit_code, -1), helio.ms_time(n.started_ms), helio.ms_time(n.ended_ms), n.run_ms, n.gpu_ms, n.energy_j,
    n.units_done, nullif(n.reason, ''), nullif(n.local_id, ''), helio.ms_at(n.at_ms), n.basis
from unnest($1::uuid[], $2::int4[], $3::int4[], $4::text[], $5::int4[], $6::bool[], $7::bool[], $8::int4[], $9::int8[],
        $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::text[], $16::text[], $17::int8[], $18::int4[])
    with ordinality as n (job, task, epoch, site, kind, completes, fenced, exit_code, started_ms, ended_ms, run_ms, gpu_ms,
        energy_j, units_done, reason, local_id, at_ms, basis, place)
-- Evidence counts of attempts that were placed at that very site: nobody takes the row of an epoch that another one has.
-- It counts within what the placement and the job allow, which the core does not know of jobs that are over. It is no longer
-- than the time limit, or than since the placement, and a day; on the GPUs of the placement, or those that the job asks for
-- first, by which an agent's report without GPUs is completed; at 5 kW a device; and not more than a day before the
-- placement (broker/core/sites/sanitize.c, reports.c). Nothing that happened is beyond these bounds. So what is beyond them
-- is not cut but left out, with its ledger.
where not n.fenced or exists (select from helio.placements p join helio.jobs j on j.job_id = p.job_id
        left join helio.edits e on e.job_id = p.job_id
    where p.job_id = n.job and p.task = n.task and p.epoch = n.epoch and p.site = n.site
      and n.run_ms <= least(coalesce(e.time_limit_ms, j.time_limit_ms), n.at_ms - helio.time_ms(p.at)) + 86400000
      and n.gpu_ms <= n.run_ms * greatest(p.gpus, j.gpus)
      and n.energy_j <= (n.run_ms / 1000 + 1) * greatest(p.gpus, j.gpus, p.nodes) * 5000
      and helio.ms_time(n.started_ms) >= p.at - interval '24 hours')
order by n.job, n.task, n.epoch, n.basis desc, n.place
-- a report that is repeated after its acknowledgement was lost changes nothing; a second completion still fails
on conflict (job_id, task, epoch) do update set kind = excluded.kind, exit_code = excluded.exit_code,
    started_at = excluded.started_at, ended_at = excluded.ended_at, at = excluded.at, run_ms = excluded.run_ms,
    gpu_ms = excluded.gpu_ms, energy_j = excluded.energy_j, units_done = excluded.units_done, reason = excluded.reason,
    local_id = excluded.local_id, basis = excluded.basis
where a.basis = 1 and excluded.basis = 2

-- name: put_ledger
insert into helio.ledger (job_id, task, epoch, tenant, site, pool, gpu_model, queue, hour, gpu_ms, energy_j, carbon_mg,
    cost_micro_usd, provenance, fenced, rates_id, part, estimated)
select n.job, n.task, n.epoch,
    coalesce(nullif(n.tenant, ''), (select j.tenant from helio.jobs j where j.job_id = n.job), ''),
    n.site, nullif(n.pool, ''), nullif(n.gpu_model, ''), nullif(n.queue, ''), helio.ms_at(n.hour_ms), s.sign * n.gpu_ms,
    s.sign * n.energy_j, s.sign * n.carbon_mg, s.sign * n.cost_micro_usd, nullif(n.provenance, ''), n.fenced,
    nullif(n.rates_id, 0), n.part, n.estimated
from unnest($1::uuid[], $2::int4[], $3::int4[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int8[],
        $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::text[], $15::bool[], $16::int8[], $17::bool[], $18::int4[])
    as n (job, task, epoch, tenant, site, pool, gpu_model, queue, hour_ms, gpu_ms, energy_j, carbon_mg, cost_micro_usd,
        provenance, fenced, rates_id, estimated, part)
cross join lateral (select case when n.part = 3 then -1 else 1 end as sign) as s
-- Evidence is charged once, within the time of the attempt that was written, at most its first 48 hours: over these the core
-- spreads it (CORE_EVIDENCE_HOURS_MAX). Each of them has its row then, so a second story with other hours adds nothing.
-- Estimate and correction go by the attempt's basis: what does not fit it was written by somebody who knew less.
where not n.fenced or exists (select from helio.attempts a
    where a.job_id = n.job and a.task = n.task and a.epoch = n.epoch and a.site = n.site and a.fenced
      and case n.part when 2 then a.basis > 0 when 3 then a.basis = 2 when 4 then a.basis = 2
          else (n.part = 1 or a.basis = 0) and helio.ms_at(n.hour_ms) > a.started_at - interval '1 hour'
              and helio.ms_at(n.hour_ms) < a.started_at + least(a.run_ms, 172800000) * interval '1 millisecond' end
      and (n.part <> 0 and n.part <> 4 or n.gpu_ms <= a.gpu_ms)
      and (n.part <> 1 or not exists (select from helio.ledger l
          where l.job_id = n.job and l.task = n.task and l.epoch = n.epoch and l.part = 1)))
on conflict (job_id, task, epoch, hour, part) do nothing

-- name: put_transition
insert into helio.transitions (seq, at, job_id, task, epoch, from_state, to_state, reason, details, actor)
select n.seq, helio.ms_at(n.at_ms), n.job, n.task, n.epoch, n.from_state, n.to_state, nullif(n.reason, ''), n.details::jsonb,
    nullif(n.actor, '')
from (
    select unnest($1::int8[]) as seq, unnest($2::int8[]) as at_ms, unnest($3::uuid[]) as job, unnest($4::int4[]) as task,
        unnest($5::int4[]) as epoch, unnest($6::int4[]) as from_state, unnest($7::int4[]) as to_state,
        unnest($8::text[]) as reason, unnest($9::text[]) as details, unnest($10::text[]) as actor
) as n

-- name: put_decision
insert into helio.decisions (decision_id, at, class_id, policy_version, reason, detail, details, chosen_site, chosen_pool,
    forecast_at)
select n.decision_id, helio.ms_at(n.at_ms), n.class_id, nullif(n.policy_version, ''), nullif(n.reason, ''),
    nullif(n.detail, ''), n.details::jsonb, nullif(n.chosen_site, ''), nullif(n.chosen_pool, ''), helio.ms_time(n.forecast_ms)
from unnest($1::int8[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::int8[])
    as n (decision_id, at_ms, class_id, policy_version, reason, detail, details, chosen_site, chosen_pool, forecast_ms)

-- name: put_candidate
insert into helio.candidates (decision_id, rank, site, pool, start_at, score_micro_usd, cost_micro_usd, energy_j, carbon_mg,
    rejected_reason, detail, details, carbon_micro_usd, wait_micro_usd, risk_micro_usd, shadow_micro_usd, move_micro_usd,
    transfer_micro_usd, transfer_ms, egress_micro_usd, transfer_j, transfer_carbon_mg, run_ms, run_high_ms)
select n.decision_id, n.rank, n.site, nullif(n.pool, ''), helio.ms_time(n.start_ms), n.score_micro_usd, n.cost_micro_usd,
    n.energy_j, n.carbon_mg, nullif(n.rejected_reason, ''), nullif(n.detail, ''), n.details::jsonb, n.carbon_micro_usd, n.wait_micro_usd,
    n.risk_micro_usd, n.shadow_micro_usd, n.move_micro_usd, n.transfer_micro_usd, n.transfer_ms, n.egress_micro_usd,
    n.transfer_j, n.transfer_carbon_mg, nullif(n.run_ms, 0), nullif(n.run_high_ms, 0)
from unnest($1::int8[], $2::int4[], $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[],
        $10::text[], $11::text[], $12::text[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::int8[],
        $19::int8[], $20::int8[], $21::int8[], $22::int8[], $23::int8[], $24::int8[])
    as n (decision_id, rank, site, pool, start_ms, score_micro_usd, cost_micro_usd, energy_j, carbon_mg, rejected_reason,
        detail, details, carbon_micro_usd, wait_micro_usd, risk_micro_usd, shadow_micro_usd, move_micro_usd, transfer_micro_usd,
        transfer_ms, egress_micro_usd, transfer_j, transfer_carbon_mg, run_ms, run_high_ms)

-- name: put_class
insert into helio.classes as c (class_id, tenant, queue, summary, reason, detail, details, decision_id, at, expected_at)
select distinct on (n.class_id) n.class_id, nullif(n.tenant, ''), nullif(n.queue, ''), nullif(n.summary, ''),
    nullif(n.reason, ''), nullif(n.detail, ''), n.details::jsonb, n.decision_id, helio.ms_time(n.at_ms), helio.ms_time(n.expected_ms)
from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int8[], $9::int8[], $10::int8[])
    with ordinality as n (class_id, tenant, queue, summary, reason, detail, details, decision_id, at_ms, expected_ms, place)
order by n.class_id, n.place desc
on conflict (class_id) do update set tenant = excluded.tenant, queue = excluded.queue, summary = excluded.summary,
    reason = excluded.reason, detail = excluded.detail, details = excluded.details, details_turn = not c.details_turn,
    decision_id = excluded.decision_id, at = excluded.at, expected_at = excluded.expected_at

-- name: put_site
insert into helio.sites as s (site, state, draining, drain_reason, backend, region, latitude, longitude, timezone, pue,
    carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, agent_version, seen_at, refused, refused_at,
    memory_since_ms, memory_mark, memory_lost_at, unreconciled_at, agent_process, awaited_by)
select distinct on (n.site) n.site, n.state, n.draining, nullif(n.drain_reason, ''), nullif(n.backend, ''),
    nullif(n.region, ''), n.latitude, n.longitude, nullif(n.timezone, ''), n.pue, n.carbon_g_per_kwh,
    n.electricity_usd_per_kwh, n.containers, n.leases, nullif(n.agent_version, ''), helio.ms_time(n.seen_ms),
    nullif(n.refused, ''), helio.ms_time(n.refused_ms), nullif(n.memory_since_ms, 0), nullif(n.memory_mark, 0),
    helio.ms_time(n.memory_lost_ms), helio.ms_time(n.unreconciled_ms),
    nullif(n.agent_process, ''), n.awaited_by
from unnest($1::text[], $2::int4[], $3::bool[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::float8[],
        $9::text[], $10::float8[], $11::float8[], $12::float8[], $13::bool[], $14::bool[], $15::text[], $16::int8[],
        $17::text[], $18::int8[], $19::int8[], $20::int8[], $21::int8[], $22::int8[], $23::text[],
        $24::int4[])
    with ordinality as n (site, state, draining, drain_reason, backend, region, latitude, longitude, timezone, pue,
        carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases, agent_version, seen_ms, refused, refused_ms,
        memory_since_ms, memory_mark, memory_lost_ms, unreconciled_ms, agent_process, awaited_by, place)
order by n.site, n.place desc
on conflict (site) do update set state = excluded.state, draining = excluded.draining,
    drain_reason = excluded.drain_reason, backend = excluded.backend, region = excluded.region,
    latitude = excluded.latitude, longitude = excluded.longitude, timezone = excluded.timezone, pue = excluded.pue,
    carbon_g_per_kwh = excluded.carbon_g_per_kwh, electricity_usd_per_kwh = excluded.electricity_usd_per_kwh,
    containers = excluded.containers, leases = excluded.leases, agent_version = excluded.agent_version,
    seen_at = excluded.seen_at, refused = excluded.refused, refused_at = excluded.refused_at,
    memory_since_ms = excluded.memory_since_ms, memory_mark = excluded.memory_mark,
    memory_lost_at = excluded.memory_lost_at, unreconciled_at = excluded.unreconciled_at,
    agent_process = excluded.agent_process, awaited_by = excluded.awaited_by

-- name: put_pool
insert into helio.pools as p (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node,
    memory_bytes_per_node, interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w)
select distinct on (n.site, n.pool) n.site, n.pool, nullif(n.gpu, ''), n.gpu_memory_bytes, n.nodes, n.max_nodes,
    n.gpus_per_node, n.cpus_per_node, n.memory_bytes_per_node, n.interconnect, n.sharing, n.owned, n.price_usd_per_gpu_h,
    n.idle_w, n.base_w, n.slope_w, n.host_w
from unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::int4[], $6::int4[], $7::int4[], $8::int4[], $9::int8[],
        $10::int4[], $11::int4[], $12::bool[], $13::float8[], $14::float8[], $15::float8[], $16::float8[],
        $17::float8[])
    with ordinality as n (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node,
        memory_bytes_per_node, interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w, place)
order by n.site, n.pool, n.place desc
on conflict (site, pool) do update set gpu = excluded.gpu, gpu_memory_bytes = excluded.gpu_memory_bytes,
    nodes = excluded.nodes, max_nodes = excluded.max_nodes, gpus_per_node = excluded.gpus_per_node,
    cpus_per_node = excluded.cpus_per_node, memory_bytes_per_node = excluded.memory_bytes_per_node,
    interconnect = excluded.interconnect, sharing = excluded.sharing, owned = excluded.owned,
    price_usd_per_gpu_h = excluded.price_usd_per_gpu_h, idle_w = excluded.idle_w, base_w = excluded.base_w,
    slope_w = excluded.slope_w, host_w = excluded.host_w

-- name: put_capacity
with n as (
    select * from unnest($1::text[], $2::text[], $3::int8[], $4::bool[], $5::int4[], $6::int4[], $7::int4[], $8::int4[],
            $9::int4[], $10::int4[], $11::int4[], $12::int4[], $13::float8[], $14::text[], $15::text[])
        with ordinality as n (site, pool, at_ms, sample, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved,
            largest_block_gpus, jobs_running, jobs_queued, site_power_w, withheld, withheld_details, place)
), sampled as (
    insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved,
        largest_block_gpus, jobs_running, jobs_queued, site_power_w)
    select n.site, n.pool, helio.ms_at(n.at_ms), n.nodes_up, n.gpus_total, n.gpus_allocated, n.gpus_free,
        n.gpus_reserved, n.largest_block_gpus, n.jobs_running, n.jobs_queued, n.site_power_w
    from n where n.sample
    on conflict (site, pool, at) do nothing
)
insert into helio.capacity_now as c (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved,
    largest_block_gpus, jobs_running, jobs_queued, site_power_w, withheld, withheld_details)
select distinct on (n.site, n.pool) n.site, n.pool, helio.ms_at(n.at_ms), n.nodes_up, n.gpus_total, n.gpus_allocated,
    n.gpus_free, n.gpus_reserved, n.largest_block_gpus, n.jobs_running, n.jobs_queued, n.site_power_w,
    nullif(n.withheld, ''), n.withheld_details::jsonb
from n
order by n.site, n.pool, n.place desc
on conflict (site, pool) do update set at = excluded.at, nodes_up = excluded.nodes_up, gpus_total = excluded.gpus_total,
    gpus_allocated = excluded.gpus_allocated, gpus_free = excluded.gpus_free, gpus_reserved = excluded.gpus_reserved,
    largest_block_gpus = excluded.largest_block_gpus, jobs_running = excluded.jobs_running,
    jobs_queued = excluded.jobs_queued, site_power_w = excluded.site_power_w, withheld = excluded.withheld,
    withheld_details = excluded.withheld_details

-- name: put_series
-- A series of no step says nothing and is passed over.
with n as (
    select n.site, n.pool, n.signal, n.kind, nullif(n.factor, '') as factor, nullif(n.source, '') as source, n.estimated,
        helio.ms_time(n.issued_ms) as issued_at, helio.ms_time(n.start_ms) as start_at, n.step_s,
        n."values"::float8[] as "values", nullif(n.p10, '{}')::float8[] as p10, nullif(n.p90, '{}')::float8[] as p90,
        nullif(n.feed_state, 0)::smallint as feed_state, helio.ms_time(n.last_value_ms) as last_value_at, n.place
    from unnest($1::text[], $2::text[], $3::int4[], $4::text[], $5::text[], $6::text[], $7::bool[], $8::int8[],
            $9::int8[], $10::int4[], $11::text[], $12::text[], $13::text[], $14::int4[], $15::int8[])
        with ordinality as n (site, pool, signal, kind, factor, source, estimated, issued_ms, start_ms, step_s, "values",
            p10, p90, feed_state, last_value_ms, place)
    where n.step_s > 0 and n.issued_ms <> 0 and n.start_ms <> 0
), kept as (
    insert into helio.series as s (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s,
        "values", p10, p90, feed_state, last_value_at)
    select distinct on (n.site, n.signal, n.issued_at, n.pool, n.kind) n.site, n.pool, n.signal, n.kind, n.factor,
        n.source, n.estimated, n.issued_at, n.start_at, n.step_s, n."values", n.p10, n.p90, n.feed_state, n.last_value_at
    from n
    order by n.site, n.signal, n.issued_at, n.pool, n.kind, n.place desc
    on conflict (site, signal, issued_at, pool, kind) do update set factor = excluded.factor, source = excluded.source,
        estimated = excluded.estimated, start_at = excluded.start_at, step_s = excluded.step_s,
        "values" = excluded."values", p10 = excluded.p10, p90 = excluded.p90, feed_state = excluded.feed_state,
        last_value_at = excluded.last_value_at
)
insert into helio.series_now as s (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s,
    "values", p10, p90, feed_state, last_value_at)
select distinct on (n.site, n.pool, n.signal, n.kind) n.site, n.pool, n.signal, n.kind, n.factor, n.source, n.estimated,
    n.issued_at, n.start_at, n.step_s, n."values", n.p10, n.p90, n.feed_state, n.last_value_at
from n
order by n.site, n.pool, n.signal, n.kind, n.issued_at desc, n.place desc
on conflict (site, pool, signal, kind) do update set factor = excluded.factor, source = excluded.source,
    estimated = excluded.estimated, issued_at = excluded.issued_at, start_at = excluded.start_at,
    step_s = excluded.step_s, "values" = excluded."values", p10 = excluded.p10, p90 = excluded.p90,
    feed_state = excluded.feed_state, last_value_at = excluded.last_value_at
where s.issued_at <= excluded.issued_at

-- name: put_audit
insert into helio.audit (at, actor, action, object, detail)
select helio.ms_at(n.at_ms), n.actor, n.action, nullif(n.object, ''), nullif(n.detail, '')
from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as n (at_ms, actor, action, object, detail, place)
order by n.place

-- name: put_token
-- The first token of a tenant makes it.
with made as (
    insert into helio.tenants (tenant) select distinct tenant from unnest($3::text[]) as n (tenant) on conflict do nothing
)
insert into helio.tokens as t (token_id, hash, tenant, user_name, role, created_at, expires_at, revoked_at)
select distinct on (n.token_id) n.token_id, n.hash, n.tenant, n.user_name, n.role, helio.ms_at(n.created_ms),
    helio.ms_time(n.expires_ms), helio.ms_time(n.revoked_ms)
from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::int8[], $8::int8[])
    with ordinality as n (token_id, hash, tenant, user_name, role, created_ms, expires_ms, revoked_ms, place)
order by n.token_id, n.place desc
on conflict (token_id) do update set expires_at = excluded.expires_at, revoked_at = excluded.revoked_at

-- name: put_principal
insert into helio.principals as p (principal, kind, tenant, name, created_at, disabled_at)
select distinct on (n.tenant, n.name) helio.user_principal(n.tenant, n.name), 'user', n.tenant, n.name, now(), helio.ms_time(n.disabled_ms)
from unnest($1::text[], $2::text[], $3::int8[]) with ordinality as n (tenant, name, disabled_ms, place)
order by n.tenant, n.name, n.place desc
on conflict (principal) do update set disabled_at = excluded.disabled_at

-- name: put_dependency
insert into helio.dependencies (job_id, place, after, on_job, on_task)
select n.job, n.place, n.after, n.on_job, n.on_task
from unnest($1::uuid[], $2::int4[], $3::int4[], $4::uuid[], $5::int4[]) as n (job, place, after, on_job, on_task)

-- name: put_dependency_hold
-- Once open, always open.
insert into helio.gates as g (job_id, detail, details, opened_at)
select distinct on (n.job) n.job, nullif(n.detail, ''), n.details::jsonb, helio.ms_time(n.opened_ms)
from unnest($1::uuid[], $2::text[], $3::text[], $4::int8[]) with ordinality as n (job, detail, details, opened_ms, place)
order by n.job, n.place desc
on conflict (job_id) do update set detail = case when g.opened_at is null then excluded.detail end,
    details = case when g.opened_at is null then excluded.details end, details_turn = not g.details_turn,
    opened_at = coalesce(g.opened_at, excluded.opened_at)

-- name: put_site_key
insert into helio.site_keys as k (public_key, site, created_at, revoked_at)
select distinct on (n.public_key) n.public_key, n.site, helio.ms_at(n.created_ms), helio.ms_time(n.revoked_ms)
from unnest($1::text[], $2::text[], $3::int8[], $4::int8[])
    with ordinality as n (public_key, site, created_ms, revoked_ms, place)
order by n.public_key, n.place desc
on conflict (public_key) do update set site = excluded.site, revoked_at = excluded.revoked_at

-- name: put_quota
insert into helio.quotas (tenant, queue, guaranteed_gpus, burst_gpus, weight_milli, set_at)
select distinct on (n.tenant, n.queue) n.tenant, n.queue, n.guaranteed_gpus, nullif(n.burst_gpus, 2147483647),
    n.weight_milli, helio.ms_at(n.at_ms)
from unnest($1::text[], $2::text[], $3::int4[], $4::int4[], $5::int4[], $6::int8[])
    with ordinality as n (tenant, queue, guaranteed_gpus, burst_gpus, weight_milli, at_ms, place)
order by n.tenant, n.queue, n.place desc
on conflict (tenant, queue) do update set guaranteed_gpus = excluded.guaranteed_gpus, burst_gpus = excluded.burst_gpus,
    weight_milli = excluded.weight_milli, set_at = excluded.set_at

-- name: put_budget
insert into helio.budgets (tenant, queue, kind, amount, period, set_at)
select distinct on (n.tenant, n.queue, n.kind) n.tenant, n.queue, n.kind, n.amount, n.period, helio.ms_at(n.at_ms)
from unnest($1::text[], $2::text[], $3::int4[], $4::int8[], $5::int4[], $6::int8[])
    with ordinality as n (tenant, queue, kind, amount, period, at_ms, place)
order by n.tenant, n.queue, n.kind, n.place desc
on conflict (tenant, queue, kind) do update set amount = excluded.amount, period = excluded.period, set_at = excluded.set_at

-- name: put_data
-- The last word on each prefix; no sites: it is removed.
with n as (
    select distinct on (u.prefix) u.prefix, string_to_array(u.sites, ' ') as sites, helio.ms_at(u.at_ms) as at, u.tenant
    from unnest($1::text[], $2::text[], $3::int8[], $4::text[]) with ordinality as u (prefix, sites, at_ms, tenant, place)
    order by u.prefix, u.place desc
), gone as (
    delete from helio.data d using n where d.prefix = n.prefix and cardinality(n.sites) = 0
)
insert into helio.data (prefix, sites, set_at, tenant)
select n.prefix, n.sites, n.at, coalesce(n.tenant, '') from n where cardinality(n.sites) > 0
on conflict (prefix) do update set sites = excluded.sites, set_at = excluded.set_at, tenant = excluded.tenant

-- name: put_link
with n as (
    select distinct on (u.from_site, u.to_site) u.from_site, u.to_site, u.removed, u.mbps, u.egress_micro_usd_per_gb, u.rtt_ms,
        helio.ms_at(u.at_ms) as at
    from unnest($1::text[], $2::text[], $3::bool[], $4::int8[], $5::int8[], $6::int4[], $7::int8[])
        with ordinality as u (from_site, to_site, removed, mbps, egress_micro_usd_per_gb, rtt_ms, at_ms, place)
    order by u.from_site, u.to_site, u.place desc
), gone as (
    delete from helio.links l using n where l.from_site = n.from_site and l.to_site = n.to_site and n.removed
)
insert into helio.links (from_site, to_site, mbps, egress_micro_usd_per_gb, rtt_ms, set_at)
select n.from_site, n.to_site, n.mbps, n.egress_micro_usd_per_gb, n.rtt_ms, n.at from n where not n.removed
on conflict (from_site, to_site) do update set mbps = excluded.mbps,
    egress_micro_usd_per_gb = excluded.egress_micro_usd_per_gb, rtt_ms = excluded.rtt_ms, set_at = excluded.set_at

-- name: put_curtailment
insert into helio.curtailments (site, set_at, from_at, until_at, percent, reason, actor, ended_at, judged_at, full_w, used_w,
    kept_w, jobs_stopped, lost_gpu_ms)
select distinct on (n.site, n.set_ms) n.site, helio.ms_at(n.set_ms), helio.ms_at(n.from_ms), helio.ms_at(n.until_ms), n.percent,
    nullif(n.reason, ''), n.actor, helio.ms_time(n.ended_ms), helio.ms_time(n.judged_ms), n.full_w, n.used_w, n.kept_w,
    n.jobs_stopped, n.lost_gpu_ms
from unnest($1::text[], $2::int8[], $3::int8[], $4::int8[], $5::int4[], $6::text[], $7::text[], $8::int8[], $9::int8[], $10::int8[],
        $11::int8[], $12::int8[], $13::int4[], $14::int8[])
    with ordinality as n (site, set_ms, from_ms, until_ms, percent, reason, actor, ended_ms, judged_ms, full_w, used_w, kept_w,
        jobs_stopped, lost_gpu_ms, place)
order by n.site, n.set_ms, n.place desc
on conflict (site, set_at) do update set ended_at = excluded.ended_at, judged_at = excluded.judged_at, full_w = excluded.full_w,
    used_w = excluded.used_w, kept_w = excluded.kept_w, jobs_stopped = excluded.jobs_stopped,
    lost_gpu_ms = excluded.lost_gpu_ms

-- name: put_queue
-- Its rules go with it.
with n as (
    select distinct on (n.queue) n.*
    from unnest($1::text[], $2::int4[], $3::int4[], $4::int8[], $5::bool[])
        with ordinality as n (queue, priority, tier, time_limit_ms, removed, place)
    order by n.queue, n.place desc
), gone as (
    delete from helio.queues q using n where n.removed and q.queue = n.queue
)
insert into helio.queues (queue, priority, tier, time_limit_ms)
select n.queue, n.priority, n.tier, n.time_limit_ms from n where not n.removed
on conflict (queue) do update set priority = excluded.priority, tier = excluded.tier, time_limit_ms = excluded.time_limit_ms

-- name: put_queue_rule
with n as (
    select distinct on (n.queue, n.region, n.schedule, n.zone) n.*
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::int4[], $7::int8[], $8::int8[], $9::bool[],
            $10::bool[])
        with ordinality as n (queue, region, schedule, zone, zone_data, priority, until_ms, at_ms, holds, removed, place)
    order by n.queue, n.region, n.schedule, n.zone, n.place desc
), gone as (
    delete from helio.queue_rules r using n
    where n.removed and (r.queue, r.region, r.schedule, r.zone) = (n.queue, n.region, n.schedule, n.zone)
)
insert into helio.queue_rules (queue, region, schedule, zone, zone_data, priority, until_at, set_at, holds)
select n.queue, n.region, n.schedule, n.zone, n.zone_data, n.priority, helio.ms_time(n.until_ms), helio.ms_at(n.at_ms), n.holds
from n where not n.removed
on conflict (queue, region, schedule, zone) do update set zone_data = excluded.zone_data, priority = excluded.priority,
    until_at = excluded.until_at, set_at = excluded.set_at, holds = excluded.holds

-- name: put_overflow
-- One that takes the place of one that is removed in the same batch stands behind it: what is gone goes first.
with n as (
    select distinct on (n.name) n.*
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bool[])
        with ordinality as n (name, queue, tenant, steps, at_ms, removed, place)
    order by n.name, n.place desc
), gone as (
    delete from helio.overflows o using n where n.removed and o.name = n.name
)
insert into helio.overflows (name, queue, tenant, steps, set_at)
select n.name, n.queue, n.tenant, n.steps, helio.ms_at(n.at_ms) from n where not n.removed
on conflict (name) do update set queue = excluded.queue, tenant = excluded.tenant, steps = excluded.steps,
    set_at = excluded.set_at

-- name: put_tenant
-- A leader does not know a tenant that `helio-broker tenant add` stored beside it. Of several rows the last one that states a home counts.
insert into helio.tenants (tenant, home_site)
select distinct on (n.tenant) n.tenant,
    case when n.keeps_home then (select t.home_site from helio.tenants t where t.tenant = n.tenant) else nullif(n.home_site, '') end
from unnest($1::text[], $2::text[], $3::bool[]) with ordinality as n (tenant, home_site, keeps_home, place)
order by n.tenant, n.keeps_home, n.place desc
on conflict (tenant) do update set home_site = excluded.home_site

-- name: put_edit
insert into helio.edits (job_id, priority, goal, prices_set, deadline_at, flexible_ms, max_cost_micro_usd,
    max_carbon_mg_per_kwh, queue, tier, class_id, at, time_limit_ms)
select distinct on (n.job) n.job, n.priority, n.goal, n.prices_set, helio.ms_time(n.deadline_ms), n.flexible_ms, n.max_cost,
    n.max_carbon, n.queue, n.tier, n.class_id, helio.ms_at(n.at_ms), nullif(n.time_limit_ms, 0)
from unnest($1::uuid[], $2::int4[], $3::int4[], $4::bool[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::text[],
        $10::int4[], $11::int8[], $12::int8[], $13::int8[])
    with ordinality as n (job, priority, goal, prices_set, deadline_ms, flexible_ms, max_cost, max_carbon, queue, tier, class_id,
        at_ms, time_limit_ms, place)
order by n.job, n.place desc
on conflict (job_id) do update set priority = excluded.priority, goal = excluded.goal, prices_set = excluded.prices_set,
    deadline_at = excluded.deadline_at, flexible_ms = excluded.flexible_ms, max_cost_micro_usd = excluded.max_cost_micro_usd,
    max_carbon_mg_per_kwh = excluded.max_carbon_mg_per_kwh, queue = excluded.queue, tier = excluded.tier,
    class_id = excluded.class_id, at = excluded.at, time_limit_ms = excluded.time_limit_ms

-- name: put_edited
insert into helio.edited (seq, place, job_id, at, actor, field, before, after)
select n.seq, n.place, n.job, helio.ms_at(n.at_ms), n.actor, n.field, n.before, n.after
from unnest($1::int8[], $2::int4[], $3::uuid[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[])
    as n (seq, place, job, at_ms, actor, field, before, after)

-- name: put_hourly_price
insert into helio.rates (rates_id, site, pool, hour, watts_per_gpu, pue, pue_source, pue_issued_at, pue_estimated,
    price_usd_per_gpu_h, price_source, price_issued_at, price_estimated, electricity_usd_per_kwh, electricity_source,
    electricity_issued_at, electricity_estimated, carbon_g_per_kwh, carbon_kind, carbon_factor, carbon_source,
    carbon_issued_at, carbon_estimated, pue_feed_state, pue_last_value_at, price_feed_state, price_last_value_at,
    electricity_feed_state, electricity_last_value_at, carbon_feed_state, carbon_last_value_at)
select n.rates_id, n.site, nullif(n.pool, ''), helio.ms_at(n.hour_ms), n.watts_per_gpu, n.pue, nullif(n.pue_source, ''),
    helio.ms_time(n.pue_ms), n.pue_estimated, n.price, nullif(n.price_source, ''), helio.ms_time(n.price_ms),
    n.price_estimated, n.electricity, nullif(n.electricity_source, ''), helio.ms_time(n.electricity_ms),
    n.electricity_estimated,
    case when n.carbon_source <> '' or n.carbon_kind <> '' or n.carbon_ms <> 0 then n.carbon end,
    nullif(n.carbon_kind, ''), nullif(n.carbon_factor, ''), nullif(n.carbon_source, ''), helio.ms_time(n.carbon_ms),
    n.carbon_estimated, nullif(n.pue_feed, 0)::smallint, helio.ms_time(n.pue_last_ms), nullif(n.price_feed, 0)::smallint,
    helio.ms_time(n.price_last_ms), nullif(n.electricity_feed, 0)::smallint, helio.ms_time(n.electricity_last_ms),
    nullif(n.carbon_feed, 0)::smallint, helio.ms_time(n.carbon_last_ms)
from unnest($1::int8[], $2::text[], $3::text[], $4::int8[], $5::float8[], $6::float8[], $7::text[], $8::int8[], $9::bool[],
        $10::float8[], $11::text[], $12::int8[], $13::bool[], $14::float8[], $15::text[], $16::int8[], $17::bool[],
        $18::float8[], $19::text[], $20::text[], $21::text[], $22::int8[], $23::bool[], $24::int4[], $25::int8[], $26::int4[],
        $27::int8[], $28::int4[], $29::int8[], $30::int4[], $31::int8[])
    as n (rates_id, site, pool, hour_ms, watts_per_gpu, pue, pue_source, pue_ms, pue_estimated, price, price_source,
        price_ms, price_estimated, electricity, electricity_source, electricity_ms, electricity_estimated, carbon,
        carbon_kind, carbon_factor, carbon_source, carbon_ms, carbon_estimated, pue_feed, pue_last_ms, price_feed,
        price_last_ms, electricity_feed, electricity_last_ms, carbon_feed, carbon_last_ms)
on conflict (rates_id) do nothing

-- name: put_actual
insert into helio.actuals as a (site, pool, signal, hour, value, kind, factor, source, estimated, issued_at, feed_state,
    last_value_at)
select distinct on (n.site, n.signal, n.pool, n.hour_ms) n.site, n.pool, n.signal, helio.ms_at(n.hour_ms), n.value, n.kind,
    nullif(n.factor, ''), nullif(n.source, ''), n.estimated, helio.ms_at(n.issued_ms), nullif(n.feed_state, 0)::smallint,
    helio.ms_time(n.last_value_ms)
from unnest($1::text[], $2::text[], $3::int4[], $4::int8[], $5::float8[], $6::text[], $7::text[], $8::text[], $9::bool[],
        $10::int8[], $11::int4[], $12::int8[])
    with ordinality as n (site, pool, signal, hour_ms, value, kind, factor, source, estimated, issued_ms, feed_state,
        last_value_ms, place)
order by n.site, n.signal, n.pool, n.hour_ms, n.place desc
on conflict (site, signal, pool, hour) do update set value = excluded.value, kind = excluded.kind,
    factor = excluded.factor, source = excluded.source, estimated = excluded.estimated, issued_at = excluded.issued_at,
    feed_state = excluded.feed_state, last_value_at = excluded.last_value_at

-- name: put_baseline
insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd,
    home_site, home_energy_j, home_carbon_mg, home_cost_micro_usd, home_carbon_kind, least_site, least_wait_ms,
    least_energy_j, least_carbon_mg, least_cost_micro_usd, least_carbon_kind, estimated)
select n.job, n.task, n.tenant, helio.ms_at(n.ended_ms), n.run_ms, n.wait_ms, n.energy_j, n.carbon_mg, n.cost,
    nullif(n.home_site, ''), n.home_energy_j, n.home_carbon_mg, n.home_cost, nullif(n.home_kind, ''),
    nullif(n.least_site, ''), n.least_wait_ms, n.least_energy_j, n.least_carbon_mg, n.least_cost,
    nullif(n.least_kind, ''), n.estimated
from unnest($1::uuid[], $2::int4[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[],
        $10::text[], $11::int8[], $12::int8[], $13::int8[], $14::text[], $15::text[], $16::int8[], $17::int8[],
        $18::int8[], $19::int8[], $20::text[], $21::bool[])
    as n (job, task, tenant, ended_ms, run_ms, wait_ms, energy_j, carbon_mg, cost, home_site, home_energy_j,
        home_carbon_mg, home_cost, home_kind, least_site, least_wait_ms, least_energy_j, least_carbon_mg, least_cost,
        least_kind, estimated)
-- as the end that it belongs to: a report that is repeated changes nothing
on conflict (job_id, task) do nothing

-- name: put_site_energy
insert into helio.site_ledger (site, pool, hour, part, energy_j, source, estimated, issued_at)
select n.site, n.pool, helio.ms_at(n.hour_ms), n.part, n.energy_j, nullif(n.source, ''), n.estimated, helio.ms_at(n.issued_ms)
from unnest($1::text[], $2::text[], $3::int8[], $4::int4[], $5::int8[], $6::text[], $7::bool[], $8::int8[])
    as n (site, pool, hour_ms, part, energy_j, source, estimated, issued_ms)
-- sites say each hour again to every leader: the first word stands
on conflict (site, hour, pool, part) do nothing

-- name: put_label
insert into helio.labels (job_id, key, value)
select unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[])
