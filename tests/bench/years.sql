-- A slice of a long life: jobs :from to :to that ended, of which one was submitted every :gap_ms from :start_ms (Unix, ms) on, where
-- job :base was. One in :key_every has an idempotency key. The tables' own columns and nothing else; each row as the broker writes it.
-- Called by tests/bench/years.py, slices in parallel.
set session_replication_role = replica; -- no triggers: helio.sum_up is called once, at the end
set synchronous_commit = off;

create temp table fill as
select n, m.at_ms, helio.ms_at(m.at_ms) as at,
    (lpad(to_hex(m.at_ms), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || substr(md5(n::text), 1, 15))::uuid as job_id,
    r.wait_ms, r.run_ms, m.at_ms + r.wait_ms as start_ms, m.at_ms + r.wait_ms + r.run_ms as end_ms, r.gpus,
    'tenant' || r.h % 50 as tenant, 'user' || r.h % 400 as user_name, 'train-' || r.h % 1000 || '-' || n as name,
    (array ['standard', 'standard', 'batch', 'express', 'preemptible'])[1 + r.h % 5] as queue,
    'site' || r.h % :sites as site, (array ['a', 'b'])[1 + r.h / 7 % 2] as pool, r.h % 2000 as class_id,
    case when r.h % 100 < 92 then 8 when r.h % 100 < 99 then 9 else 10 end as state,
    case when n % :key_every = 0 then 'key-' || n end as idempotency_key,
    1000000 + n / 8 as decision_id
from generate_series(:from::bigint, :to::bigint) n
cross join lateral (select :start_ms::bigint + (n - :base::bigint) * :gap_ms::bigint as at_ms) m
cross join lateral (select abs(hashint8(n))::bigint as h, 2000 + abs(hashint8(n + 77))::bigint % 1200000 as wait_ms,
    60000 + abs(hashint8(n + 99))::bigint % 5340000 as run_ms, (array [1, 1, 2, 4, 8])[1 + n % 5] as gpus) r;

insert into helio.jobs (job_id, tenant, user_name, idempotency_key, spec_hash, source, name, queue, tier, kind, home_site,
    gpu_model, gpus, nodes, time_limit_ms, class_id, submitted_at, expected_ms, expected_high_ms, expected_runs, expected_failed,
    expected_basis, id_text)
select job_id, tenant, user_name, idempotency_key, sha256(name::bytea), convert_to('{"name": "' || name || '", "gpu": "H100:'
    || gpus || '", "nodes": 1, "time": "2h", "env": {"LR": "1e-4", "BATCH": "256"}, "placement": {"goal": "balanced"}, "run": "'
    || repeat(md5(name), 7) || '"}', 'UTF8'), name, queue, 1, 0, 'site0', 'H100', gpus, 1, 7200000, class_id, at, run_ms,
    run_ms * 2, 20, 1, 1, helio.job_text(job_id, -1)
from fill order by n;

insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, site, pool, reason,
    started_at, finished_at, exit_code, gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done, at)
select job_id, -1, state, 4, 0, 1, 1, (state = 9)::integer, 0, site, pool, case when state = 9 then 'exit code 1' end,
    helio.ms_at(start_ms), helio.ms_at(end_ms), (state = 9)::integer, run_ms * gpus, run_ms * gpus / 1800, run_ms * gpus / 2000,
    run_ms * gpus / 14000, 0, helio.ms_at(end_ms)
from fill order by n;

insert into helio.labels (job_id, key, value) select job_id, 'team', 't' || n % 20 from fill where n % 4 > 0
union all select job_id, 'sweep', 's' || n from fill where n % 10000 = 0;

insert into helio.job_tails (tail, job_id) select helio.id_tail(job_id), job_id from fill order by n;

insert into helio.placements (job_id, task, epoch, site, pool, decision_id, nodes, gpus, score_micro_usd, planned_cost_micro_usd,
    planned_energy_j, planned_carbon_mg, start_at, at, least_at, least_site, least_pool, expected_ms, expected_high_ms, gpu_model)
select job_id, -1, 1, site, pool, decision_id, 1, gpus, 1000, run_ms * gpus / 1800, run_ms * gpus / 2000, run_ms * gpus / 14000,
    helio.ms_at(start_ms), helio.ms_at(start_ms - 1000), helio.ms_at(start_ms), site, pool, run_ms, run_ms * 2, 'H100'
from fill order by n;

insert into helio.attempts (job_id, task, epoch, site, kind, completes, fenced, exit_code, started_at, ended_at, run_ms, gpu_ms,
    energy_j, units_done, local_id, at)
select job_id, -1, 1, site, 5, true, false, (state = 9)::integer, helio.ms_at(start_ms), helio.ms_at(end_ms), run_ms,
    run_ms * gpus, run_ms * gpus / 2000, 0, n::text, helio.ms_at(end_ms)
from fill order by n;

insert into helio.ledger (job_id, task, epoch, tenant, site, pool, gpu_model, queue, hour, gpu_ms, energy_j, carbon_mg,
    cost_micro_usd, provenance, fenced, rates_id)
select job_id, -1, 1, tenant, site, pool, 'H100', queue, helio.ms_at(h), u.ms * gpus, u.ms * gpus / 2000, u.ms * gpus / 14000,
    u.ms * gpus / 1800, 'model', false, h / 3600000 * 4096 + substr(site, 5)::bigint * 2 + (pool = 'b')::integer
from fill, generate_series(start_ms / 3600000 * 3600000, end_ms, 3600000) h
cross join lateral (select least(end_ms, h + 3600000) - greatest(start_ms, h) as ms) u
where u.ms > 0 order by n, h;

insert into helio.transitions (seq, at, job_id, task, epoch, from_state, to_state, actor)
select n * 5 + place, helio.ms_at(case place when 0 then start_ms - 1000 when 1 then start_ms - 900 when 2 then start_ms - 800
    when 3 then start_ms else end_ms end), job_id, -1, 1, (array [0, 1, 2, 3, 4])[place + 1],
    (array [1, 2, 3, 4, state])[place + 1], case when place = 0 then 'policy' else 'site:' || site end
from fill, generate_series(0, 4) place order by n, place;

insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_site,
    home_energy_j, home_carbon_mg, home_cost_micro_usd, home_carbon_kind, least_site, least_wait_ms, least_energy_j,
    least_carbon_mg, least_cost_micro_usd, least_carbon_kind, estimated)
select job_id, -1, tenant, helio.ms_at(end_ms), run_ms, wait_ms, run_ms * gpus / 2000, run_ms * gpus / 14000,
    run_ms * gpus / 1800, 'site0', run_ms * gpus / 2000, run_ms * gpus / 12000, run_ms * gpus / 1700, 'average lifecycle', site,
    0, run_ms * gpus / 2000, run_ms * gpus / 13000, run_ms * gpus / 1750, 'average lifecycle', false
from fill where state = 8 order by n;

insert into helio.decisions (decision_id, at, class_id, policy_version, reason, detail, chosen_site, chosen_pool, forecast_at)
select decision_id, helio.ms_at(start_ms - 1000), class_id, 'v1', '', null, site, pool, helio.ms_at(at_ms / 3600000 * 3600000)
from fill where n % 8 = 0 order by n;

insert into helio.candidates (decision_id, rank, site, pool, start_at, score_micro_usd, cost_micro_usd, energy_j, carbon_mg,
    rejected_reason, detail)
select decision_id, rank, 'site' || rank, 'a', helio.ms_at(start_ms), 1000 * rank, 900 * rank, 100, 10,
    case when rank > 5 then 'NoCapacity' end, case when rank > 5 then '8 GPUs of H100 are wanted, 3 are free' end
from fill, generate_series(0, 11) rank where n % 8 = 0 order by n, rank;
