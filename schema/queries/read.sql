-- Reads: one row, one text column of JSON; null = not found. Parameters are texts, cast inside. A tenant of null means
-- all tenants. Times are RFC 3339 in UTC, money is USD.

-- name: read_job
-- $1 id: whole, or a prefix or suffix of at least six characters, with ".task" for one task of an array; $2 tenant.
-- Several jobs: {"ambiguous": [ids]}. An array without a task: the whole, with "tasks" (how many in each state). The last member,
-- alone on its line, has its document and its last edit: "asked": {"source", "edit"}.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select left(case when helio.job_task($1::text) < 0 and j.tasks is not null then helio.array_json(j.job_id)
                  else helio.task_json(j.job_id, helio.job_task($1::text)) end, -1)
              || E',\n"asked":' || json_build_object('source', convert_from(j.source, 'UTF8'), 'edit', (
                  select json_build_object('goal', e.goal, 'prices_set', e.prices_set, 'flexible_ms', e.flexible_ms,
                      'deadline_ms', helio.time_ms(e.deadline_at), 'max_cost_micro_usd', e.max_cost_micro_usd,
                      'max_carbon_mg_per_kwh', e.max_carbon_mg_per_kwh, 'time_limit_ms', e.time_limit_ms)
                  from helio.edits e where e.job_id = j.job_id))::text || '}'
          from found join helio.jobs j using (job_id)) end
from found

-- name: read_jobs
-- $1 tenant; $2 states, separated by commas; $3 queue; $4 name; $5 user; $6 site; $7, $8 submitted from then on, and before then (Unix, ms);
-- $9 labels, KEY or KEY=VALUE, separated by commas; $10 the key of the order, null = newest first; $11 'whole': one entry for each array;
-- $12 cursor; $13 limit (1 to 1000). Newest first, one entry per task: {"jobs": […], "next": cursor or null}; a page can be short, or
-- empty, and have a next one (schema/report/13_lists.sql).
select helio.list_jobs($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text,
    $12::text, $13::text)

-- name: read_dependencies
-- $1 a JSON list of ids as for read_job, of tasks too; $2 tenant. What each means and how it ended, in order: [{"found":
-- 0 = unknown, 1 = ambiguous, 2 = not over, 3 = succeeded, 4 = ended otherwise, "id": with its task if it names one}].
select coalesce(json_agg(json_build_object(
    'found', case when f.matches > 1 then 1
                  when j.job_id is null or (w.word ~ '[.]' and (t.task < 0 or not t.task = any (coalesce(j.tasks, '{}')))) then 0
                  when e.well is null then 2 when e.well then 3 else 4 end,
    'id', helio.job_text(j.job_id, t.task)) order by w.place), '[]')::text
from jsonb_array_elements_text($1::jsonb) with ordinality as w (word, place)
cross join lateral (select helio.job_task(w.word) as task) t
join (select i.id, count(m) as matches, (array_agg(m))[1] as job_id
      from (select distinct split_part(d, '.', 1) as id from jsonb_array_elements_text($1::jsonb) d) i
      left join lateral helio.find_jobs(i.id, $2::text) m on true group by i.id) f on f.id = split_part(w.word, '.', 1)
left join helio.jobs j on j.job_id = f.job_id
left join lateral (select helio.ended_well(j.job_id, t.task) as well) e on true

-- name: read_job_source
-- $1 id as for read_job; $2 tenant. What a job's plan is made of: {"tenant", "user", "queue", "asked": {"source", "edit"}}, or
-- {"ambiguous": [ids]}. The queue is that of its last edit.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select json_build_object('tenant', j.tenant, 'user', j.user_name, 'queue', coalesce(e.queue, j.queue),
              'asked', json_build_object('source', convert_from(j.source, 'UTF8'), 'edit', case when e.job_id is not null then
                  json_build_object('goal', e.goal, 'prices_set', e.prices_set, 'flexible_ms', e.flexible_ms,
                      'deadline_ms', helio.time_ms(e.deadline_at), 'max_cost_micro_usd', e.max_cost_micro_usd,
                      'max_carbon_mg_per_kwh', e.max_carbon_mg_per_kwh, 'time_limit_ms', e.time_limit_ms) end))::text
          from found join helio.jobs j using (job_id) left join helio.edits e using (job_id)) end
from found

-- name: read_attempts
-- $1 id as for read_job (an array without a task: all its tasks); $2 tenant. {"id", "attempts": the newest 200 of each placement, in
-- order: what became of it, and what it used by the ledger, fenced ones too; "savings": as helio_report.savings has them}, or
-- {"ambiguous": [ids]}.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select json_build_object('id', helio.job_text(j.job_id, t.task), 'attempts', coalesce((
              select json_agg(json_build_object('task', nullif(p.task, -1), 'epoch', p.epoch, 'site', p.site, 'pool', p.pool,
                  'gpus', p.gpus, 'placed_at', helio.rfc3339(p.at), 'started_at', helio.rfc3339(a.started_at),
                  'ended_at', helio.rfc3339(a.ended_at), 'end', helio.report_word(a.kind), 'exit_code', a.exit_code,
                  'completes', a.completes, 'fenced', a.fenced, 'reason', a.reason, 'run_seconds', a.run_ms / 1000.0::float8,
                  'gpu_seconds', l.gpu_ms / 1000.0::float8, 'energy_kwh', l.energy_j / 3600000.0::float8,
                  'carbon_g', l.carbon_mg / 1000.0::float8, 'cost_usd', l.cost_micro_usd / 1000000.0::float8,
                  'energy_measured', l.measured, 'planned_cost_usd', p.planned_cost_micro_usd / 1000000.0::float8,
                  'planned_energy_kwh', p.planned_energy_j / 3600000.0::float8,
                  'planned_carbon_g', p.planned_carbon_mg / 1000.0::float8) order by p.task, p.epoch)
              from (select n.* from helio.placements n
                    where n.job_id = j.job_id and (n.task = t.task or t.task < 0)
                    order by n.at desc, n.task, n.epoch desc limit 200) p
              left join helio.attempts a on a.job_id = p.job_id and a.task = p.task and a.epoch = p.epoch
              left join lateral ( -- without rows null: helio.bounded(null) is the least amount
                  select helio.bounded(sum(u.gpu_ms)) as gpu_ms, helio.bounded(sum(u.energy_j)) as energy_j,
                      helio.bounded(sum(u.carbon_mg)) as carbon_mg, helio.bounded(sum(u.cost_micro_usd)) as cost_micro_usd,
                      bool_and(u.provenance = 'measured') filter (where u.part <> 1) as measured
                  from helio.ledger u where u.job_id = p.job_id and u.task = p.task and u.epoch = p.epoch
                  having count(*) > 0) l on true), '[]'),
              'savings', coalesce((
              select json_agg(json_build_object('task', nullif(v.task, -1), 'baseline', case v.baseline when 0 then 'home' else 'least-wait' end,
                  'site', case v.baseline when 0 then b.home_site else b.least_site end, 'carbon_kind', nullif(v.carbon_kind, ''),
                  'estimated', v.estimated <> 0, 'used_cost_usd', v.cost_micro_usd / 1000000.0::float8,
                  'used_energy_kwh', v.energy_j / 3600000.0::float8,
                  'used_carbon_g', case when v.carbon_kind <> '' then v.carbon_mg / 1000.0::float8 end,
                  'used_wait_seconds', v.wait_ms / 1000.0::float8, 'baseline_cost_usd', v.would_usd / 1000000.0::float8,
                  'baseline_energy_kwh', v.would_j / 3600000.0::float8,
                  'baseline_carbon_g', case when v.carbon_kind <> '' then v.would_mg / 1000.0::float8 end,
                  'baseline_wait_seconds', v.would_wait_ms / 1000.0::float8,
                  'saved_cost_usd', (v.would_usd - v.cost_micro_usd) / 1000000.0::float8,
                  'saved_energy_kwh', (v.would_j - v.energy_j) / 3600000.0::float8,
                  'saved_carbon_g', case when v.carbon_kind <> '' then (v.would_mg - v.carbon_mg) / 1000.0::float8 end,
                  'saved_wait_seconds', (v.would_wait_ms - v.wait_ms) / 1000.0::float8) order by v.task, v.baseline)
              from (select s.* from helio.savings_lines s
                    where s.job_id = j.job_id and (s.task = t.task or t.task < 0) and s.baseline < 2
                    order by s.task, s.baseline limit 200) v
              join helio.baselines b on b.job_id = v.job_id and b.task = v.task), '[]'))::text
          from found join helio.jobs j using (job_id)
          cross join lateral (select helio.job_task($1::text) as task) t
          where t.task < 0 or t.task = any (j.tasks)) end
from found

-- name: read_explain
-- $1 id as for read_job (an array needs its task; without one the first that waits stands for all, else the first that is not
-- over, else the first that went wrong); $2 tenant. "array" says how all tasks stand where one stands for them.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select left(helio.explain_json(j.job_id, t.task), -1) || ', "array" : '
              || case when t.chosen then helio.array_states_json(j.job_id) else 'null' end || '}'
          from found join helio.jobs j using (job_id)
          cross join lateral (
              select helio.job_task($1::text) < 0 and j.tasks is not null as chosen,
                  case when helio.job_task($1::text) < 0 and j.tasks is not null
                      then coalesce((select n.task from helio.tasks_now n
                                     where n.job_id = j.job_id and not helio.state_is_over(n.state)
                                     order by n.state in (0, 13) desc, n.task limit 1),
                                    (select n.task from helio.tasks_now n
                                     where n.job_id = j.job_id and n.state <> 8
                                     order by n.state = 11, n.task limit 1), j.tasks[1])
                      else helio.job_task($1::text) end as task
          ) t) end
from found

-- name: read_job_where
-- $1 id as for read_job; $2 tenant. Whose it is and where its newest attempt is or was: {id, task, tenant, user, array,
-- site, silent_s (of a silent site), epoch, state}, or {"ambiguous": [ids]}. An array without a task has the state that read_job
-- adds up.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select json_build_object('id', helio.job_text(j.job_id, t.task), 'task', t.task, 'tenant', j.tenant,
              'user', j.user_name, 'array', j.tasks is not null, 'first', j.tasks[1], 'site', p.site, 'epoch', coalesce(p.epoch, 0),
              'silent_s', ceil(helio.silent_seconds(p.site)), 'state', case when t.task < 0 and j.tasks is not null
                  then helio.array_json(j.job_id)::json ->> 'state'
                  else helio.state_word(coalesce(s.state, 0::int2)) end)::text
          from found join helio.jobs j using (job_id)
          cross join lateral (select helio.job_task($1::text) as task) t
          left join helio.job_state s on s.job_id = j.job_id and s.task = t.task
          left join lateral (select p.site, p.epoch from helio.placements p
                             where p.job_id = j.job_id and p.task = t.task order by p.epoch desc limit 1) p on true
          where t.task < 0 or t.task = any (j.tasks)) end
from found

-- name: read_attempt_where
-- $1 id as for read_job, of a task where it is an array; $2 tenant; $3 epoch. As read_job_where, but `site` and `epoch` are
-- those of that attempt, and `newest` is the job's latest epoch.
with found as materialized (select f as job_id from helio.find_jobs($1::text, $2::text) f)
select case when count(*) > 1
    then json_build_object('ambiguous', json_agg(helio.job_text(job_id, -1) order by job_id))::text
    else (select json_build_object('id', helio.job_text(j.job_id, t.task), 'task', t.task, 'tenant', j.tenant,
              'user', j.user_name, 'array', j.tasks is not null, 'first', j.tasks[1], 'site', p.site, 'epoch', $3::int4,
              'newest', coalesce((select max(n.epoch) from helio.placements n
                                  where n.job_id = j.job_id and n.task = t.task), 0),
              'silent_s', ceil(helio.silent_seconds(p.site)), 'state', helio.state_word(coalesce(s.state, 0::int2)))::text
          from found join helio.jobs j using (job_id)
          cross join lateral (select helio.job_task($1::text) as task) t
          left join helio.job_state s on s.job_id = j.job_id and s.task = t.task
          left join helio.placements p on p.job_id = j.job_id and p.task = t.task and p.epoch = $3::int4
          where t.task < 0 or t.task = any (j.tasks)) end
from found

-- name: read_sites
-- All sites, with their pools. One that never joined and has no key in force is a slip of a pen, and not shown.
select coalesce(json_agg(json_build_object('site', s.site, 'region', s.region, 'backend', s.backend,
    'state', helio.site_state_shown(s.state, s.draining, s.seen_at), 'draining', s.draining,
    'drain_reason', s.drain_reason, 'curtailed_to_percent', c.percent, 'curtailed_until', helio.rfc3339(c.until_at),
    'refused', s.refused, 'refused_at', helio.rfc3339(s.refused_at),
    'memory_lost_at', helio.rfc3339(s.memory_lost_at), 'unreconciled_at', helio.rfc3339(s.unreconciled_at),
    'last_seen', helio.rfc3339(s.seen_at), 'seen_s', helio.seconds_between(s.seen_at, now()),
    'gpus_total', coalesce(s.gpus_total, 0), 'gpus_allocated', coalesce(s.gpus_allocated, 0),
    'gpus_free', coalesce(s.gpus_free, 0), 'gpus_reserved', coalesce(s.gpus_reserved, 0),
    'jobs_running', coalesce(s.jobs_running, 0), 'jobs_queued', coalesce(s.jobs_queued, 0),
    'carbon_g_per_kwh', s.carbon_g_per_kwh, 'electricity_usd_per_kwh', s.electricity_usd_per_kwh,
    'price_usd_per_gpu_h', p.price_usd_per_gpu_h, 'pue', s.pue, 'power_watts', s.power_w,
    'latitude', s.latitude, 'longitude', s.longitude, 'timezone', s.timezone, 'containers', s.containers,
    'leases', s.leases, 'agent_version', s.agent_version, 'pools', coalesce(p.pools, '[]')) order by s.site), '[]')::text
from helio.sites_now s
left join lateral (
    select sum(n.price_usd_per_gpu_h * n.gpus_total) / nullif(sum(n.gpus_total), 0) as price_usd_per_gpu_h,
        json_agg(json_build_object('pool', n.pool, 'gpu_model', n.gpu_model, 'nodes', n.nodes,
            'gpus_per_node', n.gpus_per_node, 'gpus_total', coalesce(n.gpus_total, 0),
            'gpus_free', coalesce(n.gpus_free, 0), 'gpus_reserved', coalesce(n.gpus_reserved, 0),
            'price_usd_per_gpu_h', n.price_usd_per_gpu_h, 'withheld', n.withheld,
            'withheld_details', n.withheld_details) order by n.pool) as pools
    from helio.pools_now n where n.site = s.site
) p on true
left join lateral (
    select u.percent, u.until_at from helio.curtailments u
    where u.site = s.site and u.ended_at is null and u.from_at <= now() and u.until_at > now()
    order by u.percent, u.until_at desc limit 1
) c on true
where s.seen_at is not null or s.draining or s.unreconciled_at is not null
    or exists (select from helio.site_keys k where k.site = s.site and k.revoked_at is null)

-- name: read_curtailments
-- $1 site (null = all); $2 days (those that are not over are there in any case). The newest first, at most 1000. `state`: scheduled, in_force,
-- over or ended (by a command). The power figures are those of `judged_at`; null before it begins. Null when there is no such site.
select case when $1::text is null or exists (select from helio.sites s where s.site = $1::text) then (
    select coalesce(json_agg(json_build_object('site', c.site, 'set_at', helio.rfc3339(c.set_at),
        'from', helio.rfc3339(c.from_at), 'until', helio.rfc3339(c.until_at), 'to_percent', c.percent, 'reason', c.reason,
        'actor', c.actor, 'state', case when c.ended_at is not null then 'ended' when c.until_at <= now() then 'over'
            when c.from_at > now() then 'scheduled' else 'in_force' end,
        'ended_at', helio.rfc3339(c.ended_at), 'judged_at', helio.rfc3339(c.judged_at),
        'full_watts', case when c.judged_at is not null then c.full_w end,
        'limit_watts', case when c.judged_at is not null then c.full_w * c.percent / 100 end,
        'used_watts', case when c.judged_at is not null then c.used_w end,
        'kept_watts', case when c.judged_at is not null then c.kept_w end,
        'jobs_stopped', c.jobs_stopped, 'lost_gpu_s', c.lost_gpu_ms / 1000) order by c.set_at desc, c.site), '[]')::text
    from (select * from helio.curtailments
          where ($1::text is null or site = $1::text)
            and (until_at > now() or set_at > now() - make_interval(days => coalesce($2::int4, 7)))
          order by set_at desc, site limit 1000) c) end

-- name: read_forecast
-- $1 site; $2 days over which its error is measured (null = 7, at most 30). Each series as last issued, from now on: [{"signal",
-- "pool", "issued_at", "step_s", "source", "kind", "factor", "estimated", "feed_state", "last_value_at", "points": [{"time", "value", "p10", "p90"}], "errors":
-- [{"horizon_h_from", "horizon_h_to", "hours", "mean_absolute_error", "mean_ape_ratio", "bias"}]}]; null when there is no such
-- site. Errors are of what was issued in those days, by whole hours ahead; a range without a measured hour is not there.
-- "earlier": {"issued_at", "points"}, what was expected of the last 24 hours and of this one by the last issue before them, at most a day
-- older, or else by the first issue in them; null for the series of pools, or without one.
-- At most 512 series, as many as a summary carries, and the errors of the newest 5000 issues.
with since as materialized (
    select greatest(now() - make_interval(days => least(coalesce($2::int4, 7), 30)), (
        select i.issued_at from helio.series i
        where i.site = $1::text and i.issued_at > now() - make_interval(days => least(coalesce($2::int4, 7), 30))
        order by i.issued_at desc offset 5000 limit 1)) as issued_at
), errors as materialized (
    select e.signal, coalesce(e.pool, '') as pool, coalesce(e.kind, '') as kind, e.factor, b.least, b.most, count(*) as hours,
        avg(e.absolute_error) as mean_absolute_error, avg(e.ape_ratio) as mean_ape_ratio, avg(e.value - e.actual_value) as bias
    from helio_report.forecast_error e
    join (values (0, 1), (2, 6), (7, 12), (13, 24), (25, 48), (49, 168)) as b (least, most)
        on e.horizon_h between b.least and b.most
    where e.site = $1::text and e.issued_at > (select s.issued_at from since s)
    group by e.signal, coalesce(e.pool, ''), coalesce(e.kind, ''), e.factor, b.least, b.most
)
select case when exists (select from helio.sites s where s.site = $1::text) then (
    select coalesce(json_agg(json_build_object('signal', helio.signal_word(n.signal), 'pool', nullif(n.pool, ''),
        'issued_at', helio.rfc3339(n.issued_at), 'step_s', n.step_s, 'kind', nullif(n.kind, ''), 'factor', nullif(n.factor, ''),
        'source', helio.source_text(n.source, n.feed_state, n.last_value_at), 'estimated', n.estimated,
        'feed_state', helio.feed_state_word(n.feed_state), 'last_value_at', helio.rfc3339(n.last_value_at), 'points', coalesce((
            select json_agg(json_build_object('time', helio.rfc3339(n.start_at + make_interval(secs => (i - 1.0) * n.step_s)),
                'value', n."values"[i], 'p10', n.p10[i], 'p90', n.p90[i]) order by i)
            from generate_series(1, cardinality(n."values")) i
            where n.start_at + make_interval(secs => i::float8 * n.step_s) > now()), '[]'),
        'earlier', (
            select json_build_object('issued_at', helio.rfc3339(b.issued_at), 'points', json_agg(json_build_object(
                'time', helio.rfc3339(b.start_at + make_interval(secs => (i - 1.0) * b.step_s)), 'value', b."values"[i], 'p10', b.p10[i],
                'p90', b.p90[i]) order by i))
            from ((select s.* from helio.series s
                   where s.site = n.site and s.signal = n.signal and s.pool = '' and n.pool = '' and s.kind = n.kind
                     and s.issued_at > now() - interval '48 hours' and s.issued_at <= now() - interval '24 hours'
                   order by s.issued_at desc limit 1)
                  union all
                  (select s.* from helio.series s
                   where s.site = n.site and s.signal = n.signal and s.pool = '' and n.pool = '' and s.kind = n.kind
                     and s.issued_at > now() - interval '24 hours' and s.issued_at < n.issued_at
                   order by s.issued_at limit 1)
                  order by issued_at limit 1) b
            cross join generate_series(1, cardinality(b."values")) i
            where b.start_at + make_interval(secs => i::float8 * b.step_s) > now() - interval '24 hours'
              and b.start_at + make_interval(secs => (i - 1.0) * b.step_s) <= now()
            group by b.issued_at),
        'errors', coalesce((
            select json_agg(json_build_object('horizon_h_from', e.least, 'horizon_h_to', e.most, 'hours', e.hours,
                'mean_absolute_error', e.mean_absolute_error, 'mean_ape_ratio', e.mean_ape_ratio, 'bias', e.bias) order by e.least)
            from errors e
            where e.signal = helio.signal_word(n.signal) and e.pool = n.pool and e.kind = n.kind
              and e.factor is not distinct from n.factor), '[]')) order by n.signal, n.pool, n.kind), '[]')::text
    from (select * from helio.series_now m where m.site = $1::text order by m.issued_at desc limit 512) n) end

-- name: read_gpus
-- One entry per pool that has GPUs.
select coalesce(json_agg(json_build_object('site', n.site, 'pool', n.pool, 'region', n.region, 'gpu_model', n.gpu_model,
    'gpu_memory_gb', round(n.gpu_memory_bytes / 1e9), 'nodes', n.nodes, 'max_nodes', n.max_nodes,
    'gpus_per_node', n.gpus_per_node, 'gpus_total', coalesce(n.gpus_total, 0),
    'gpus_allocated', coalesce(n.gpus_allocated, 0), 'gpus_free', coalesce(n.gpus_free, 0),
    'gpus_reserved', coalesce(n.gpus_reserved, 0), 'largest_block_gpus', coalesce(n.largest_block_gpus, 0),
    'interconnect', helio.interconnect_word(n.interconnect), 'sharing', helio.sharing_word(n.sharing), 'owned', n.owned,
    'price_usd_per_gpu_h', n.price_usd_per_gpu_h,
    'site_state', helio.site_state_shown(n.state, n.draining, s.seen_at), 'curtailed_to_percent', c.percent,
    'curtailed_until', helio.rfc3339(c.until_at),
    'updated_at', helio.rfc3339(n.at)) order by n.gpu_model, n.site, n.pool), '[]')::text
from helio.pools_now n join helio.sites_now s using (site)
left join lateral (
    select u.percent, u.until_at from helio.curtailments u
    where u.site = n.site and u.ended_at is null and u.from_at <= now() and u.until_at > now()
    order by u.percent, u.until_at desc limit 1
) c on true
where n.gpu_model is not null

-- name: read_queues
-- $1 tenant: whose jobs are counted. priority is what holds everywhere now; regions where another one does, in words. Rules
-- stand in order of precedence, as broker/core/state/queues.c has it. burst_gpus: what the tenant may hold at once; of all tenants,
-- one that has no quota of its own there. Null is no limit; 8 in a critical queue is HELIO_QUOTA_CRITICAL_GPUS.
with rules as (
    select r.*, row_number() over (partition by r.queue order by r.schedule <> '', r.region = '', r.set_at desc,
        r.region collate "C", r.schedule collate "C", r.zone collate "C") as place
    from helio.queue_rules r
), everywhere as (
    select distinct on (r.queue) r.queue, r.priority, r.place from rules r where r.holds and r.region = '' order by r.queue, r.place
), said as (
    select r.queue, json_agg(json_build_object('region', nullif(r.region, ''), 'schedule', nullif(r.schedule, ''),
            'zone', case when r.schedule <> '' then coalesce(nullif(r.zone, ''), 'UTC') end, 'priority', r.priority,
            'until', helio.rfc3339(r.until_at), 'holds', r.holds) order by r.place) as rules,
        string_agg(r.region || ' ' || r.priority, ', ' order by r.place)
            filter (where r.holds and r.region <> '' and r.place < coalesce(e.place, 2147483647)) as regions
    from rules r left join everywhere e using (queue)
    group by r.queue
)
select coalesce(json_agg(json_build_object('queue', q.queue, 'priority', coalesce(e.priority, q.priority),
    'priority_set', q.priority, 'regions', s.regions, 'rules', coalesce(s.rules, '[]'), 'tier', helio.tier_word(q.tier),
    'time_limit_s', q.time_limit_ms / 1000, 'burst_gpus', case when b.tenant is not null then b.burst_gpus when q.tier = 2 then 8 end,
    'queued', coalesce(n.queued, 0), 'running', coalesce(n.live, 0),
    'held', coalesce(n.held, 0), 'gpus_queued', coalesce(n.gpus_queued, 0), 'gpus_running', coalesce(n.gpus_live, 0))
    order by coalesce(e.priority, q.priority) desc, q.queue), '[]')::text
from helio.queues q
left join said s using (queue)
left join everywhere e using (queue)
left join lateral (select b.tenant, b.burst_gpus from helio.quotas b where b.queue = q.queue and b.tenant in ($1::text, '*')
                   order by b.tenant = '*' limit 1) b on true
left join (
    select o.queue, sum(o.queued) as queued, sum(o.live) as live, sum(o.held) as held, sum(o.queued * o.gpus) as gpus_queued,
        sum(o.live * o.gpus) as gpus_live
    from helio.open_now o
    where $1::text is null or o.tenant = $1::text
    group by o.queue
) n using (queue)

-- name: read_overflows
-- $1 tenant: the groups of its jobs; null: all.
select coalesce(json_agg(json_build_object('name', o.name, 'queue', nullif(o.queue, ''), 'tenant', nullif(o.tenant, ''),
    'steps', o.steps, 'set_at', helio.rfc3339(o.set_at)) order by o.name), '[]')::text
from helio.overflows o where $1::text is null or o.tenant in ('', $1::text)

-- name: read_quotas
-- $1 tenant. Every tenant (queue null: all its queues together), and every queue of one that has a quota; with the GPUs
-- held now, by the newest placements of jobs that are at a site, GPU hours of the past day, as the ledger has them, and its
-- budgets: a list of {kind, period, unit, budget, used, committed, left, begins_again, of_each}.
with held as materialized (
    select j.tenant, coalesce(e.queue, j.queue) as queue, sum(p.gpus) as gpus, count(*) filter (where p.gpus > 0) as jobs
    from helio.state_maybe_open t
    join helio.jobs j using (job_id)
    left join helio.edits e using (job_id)
    join helio.placements p on p.job_id = t.job_id and p.task = t.task and p.epoch = t.epoch
    where helio.state_is_live(t.state) and ($1::text is null or j.tenant = $1::text)
    group by 1, 2
), used as materialized (
    select l.tenant, l.queue, sum(l.gpu_ms) as gpu_ms
    from helio.ledger l
    where l.hour > now() - interval '1 day' and ($1::text is null or l.tenant = $1::text)
    group by l.tenant, l.queue
), budgets as (
    select b.tenant, coalesce(b.queue, '') as queue, json_agg(json_build_object('kind', b.kind, 'period', b.period,
        'unit', b.unit, 'budget', b.budget, 'used', b.used, 'committed', b.committed, 'left', b.remaining,
        'begins_again', helio.rfc3339(b.ends_at), 'of_each', b.of_each) order by b.kind desc) as list
    from helio_report.budgets b
    where $1::text is null or b.tenant = $1::text
    group by b.tenant, b.queue
), named as (
    select t.tenant, '' as queue from helio.tenants t
    union
    select q.tenant, q.queue from helio.quotas q
    union
    select b.tenant, b.queue from budgets b
)
select coalesce(json_agg(json_build_object('tenant', n.tenant, 'queue', nullif(n.queue, ''),
    'guaranteed_gpus', coalesce(q.guaranteed_gpus, 0), 'burst_gpus', q.burst_gpus,
    'gpus_in_use', coalesce(h.gpus, 0), 'jobs_running', coalesce(h.jobs, 0),
    'gpu_hours_day', round(coalesce(u.gpu_ms, 0) / 3600000.0, 3)::float8,
    'weight', case when n.queue = '' then coalesce(q.weight_milli, 1000) / 1000.0::float8 end, 'budgets', coalesce(b.list, '[]'))
    order by n.tenant, n.queue), '[]')::text
from named n
left join helio.quotas q using (tenant, queue)
left join budgets b using (tenant, queue)
left join lateral (select sum(h.gpus) as gpus, sum(h.jobs) as jobs from held h
                   where h.tenant = n.tenant and (n.queue = '' or h.queue = n.queue)) h on true
left join lateral (select sum(u.gpu_ms) as gpu_ms from used u
                   where u.tenant = n.tenant and (n.queue = '' or u.queue = n.queue)) u on true
where $1::text is null or n.tenant in ($1::text, '*')

-- name: read_tenants
-- Every tenant: a list of {tenant, home_site, weight, users (with a token in force), jobs_open, created_at}.
with open as materialized (
    select o.tenant, sum(o.open) as jobs from helio.open_now o group by o.tenant
)
select coalesce(json_agg(json_build_object('tenant', t.tenant, 'home_site', t.home_site,
    'weight', coalesce(q.weight_milli, 1000) / 1000.0::float8,
    'users', (select count(distinct k.user_name) from helio.tokens k
              where k.tenant = t.tenant and k.revoked_at is null and coalesce(k.expires_at > now(), true)),
    'jobs_open', coalesce((select o.jobs from open o where o.tenant = t.tenant), 0),
    'created_at', helio.rfc3339(t.created_at)) order by t.tenant), '[]')::text
from helio.tenants t left join helio.quotas q on q.tenant = t.tenant and q.queue = ''

-- name: read_data
-- $1 tenant: what is everybody's, and its own; null: all. The catalogue, by prefix: a list of {prefix, tenant, sites,
-- strangers, set_at}; strangers: those that are not a site here.
select coalesce(json_agg(json_build_object('prefix', d.prefix, 'tenant', nullif(d.tenant, ''), 'sites', to_json(d.sites),
    'strangers', (select coalesce(json_agg(n.site order by n.place), '[]') from unnest(d.sites) with ordinality as n (site, place)
                  where not exists (select from helio.sites s where s.site = n.site)),
    'set_at', helio.rfc3339(d.set_at)) order by d.prefix), '[]')::text
from helio.data d where $1::text is null or d.tenant in ('', $1::text)

-- name: read_links
-- A list of {from, to, gbps, egress_usd_per_gb, rtt_ms, set_at}.
select coalesce(json_agg(json_build_object('from', l.from_site, 'to', l.to_site, 'gbps', l.mbps / 1000.0::float8,
    'egress_usd_per_gb', l.egress_micro_usd_per_gb / 1000000.0::float8, 'rtt_ms', l.rtt_ms,
    'set_at', helio.rfc3339(l.set_at)) order by l.from_site, l.to_site), '[]')::text
from helio.links l

-- name: read_events
-- $1 after this seq; $2 tenant; $3 limit (1 to 1000). Ascending (an edit leads from a state to itself): a list of {seq, time, id, tenant, queue, name, epoch,
-- from, to, reason, details, actor, site}.
select coalesce(json_agg(json_build_object('seq', e.seq, 'time', helio.rfc3339(e.at), 'id', helio.job_text(e.job_id, e.task),
    'name', e.name, 'tenant', e.tenant, 'queue', e.queue, 'epoch', e.epoch, 'from', helio.state_word(e.from_state),
    'to', helio.state_word(e.to_state), 'reason', e.reason, 'details', e.details, 'actor', e.actor, 'site', e.site) order by e.seq), '[]')::text
from (
    select t.*, j.name, j.tenant, coalesce(d.queue, j.queue) as queue, p.site
    from helio.transitions t
    join helio.jobs j using (job_id)
    left join helio.edits d using (job_id)
    left join helio.placements p on p.job_id = t.job_id and p.task = t.task and p.epoch = t.epoch
    where t.seq > $1::int8 and ($2::text is null or j.tenant = $2::text)
    order by t.seq limit least(greatest($3::int4, 1), 1000)
) e

-- name: read_leader
-- {"leader", "epoch", "since"}: the broker that leads, or led last; null: none ever has.
select json_build_object('leader', f.holder, 'epoch', f.broker_epoch, 'since', helio.rfc3339(f.taken_at))::text
from helio.federation f

-- name: read_last_event
-- The highest seq there is: where a subscriber without Last-Event-ID begins. {"seq"}
select json_build_object('seq', coalesce(max(seq), 0))::text from helio.transitions

-- name: read_tokens
-- $1 tenant. Newest first; never a hash.
select coalesce(json_agg(json_build_object('token_id', t.token_id, 'tenant', t.tenant, 'user', t.user_name,
    'role', t.role, 'created_at', helio.rfc3339(t.created_at), 'expires_at', helio.rfc3339(t.expires_at),
    'revoked_at', helio.rfc3339(t.revoked_at)) order by t.created_at desc, t.token_id), '[]')::text
from helio.tokens t where $1::text is null or t.tenant = $1::text

-- name: read_token
-- $1 id; $2 SHA-256 of its secret, in hexadecimal (null: whatever it is). One token as it is stored; null: there is none.
select json_build_object('token_id', t.token_id, 'hash', encode(t.hash, 'hex'), 'tenant', t.tenant, 'user', t.user_name,
    'role', t.role, 'created_ms', helio.time_ms(t.created_at), 'expires_ms', coalesce(helio.time_ms(t.expires_at), 0),
    'revoked_ms', coalesce(helio.time_ms(t.revoked_at), 0))::text
from helio.tokens t where t.token_id = $1::text and ($2::text is null or t.hash = decode($2::text, 'hex'))

-- name: read_site_keys
-- Every key that a site had, by site, the newest first.
select coalesce(json_agg(json_build_object('site', k.site, 'public_key', k.public_key, 'created_at', helio.rfc3339(k.created_at),
    'revoked_at', helio.rfc3339(k.revoked_at)) order by k.site, k.created_at desc, k.public_key), '[]')::text
from helio.site_keys k

-- name: read_site_key
-- $1 site; $2 public key. {public_key, created_ms, revoked_ms}, 0 while it is in force; null if it was never this site's.
select json_build_object('public_key', k.public_key, 'created_ms', helio.time_ms(k.created_at),
    'revoked_ms', coalesce(helio.time_ms(k.revoked_at), 0))::text
from helio.site_keys k where k.site = $1::text and k.public_key = $2::text

-- name: read_key
-- $1 public key, of any site. {site, revoked_ms}, 0 while it is in force.
select json_build_object('site', k.site, 'revoked_ms', coalesce(helio.time_ms(k.revoked_at), 0))::text
from helio.site_keys k where k.public_key = $1::text

-- name: read_principals
select coalesce(json_agg(json_build_object('kind', p.kind, 'name', p.name, 'tenant', p.tenant, 'roles', p.roles,
    'created_at', helio.rfc3339(p.created_at), 'revoked_at', helio.rfc3339(p.revoked_at),
    'disabled_at', helio.rfc3339(p.disabled_at)) order by p.kind desc, p.tenant, p.name), '[]')::text
from helio.principals_now p

-- name: read_audit
-- $1 before this audit_id (null: from the newest); $2 limit (1 to 1000). {"entries": newest first, "next": or null}
with page as (
    select a.* from helio.audit a where $1::int8 is null or a.audit_id < $1::int8
    order by a.audit_id desc limit least(greatest($2::int4, 1), 1000)
)
select json_build_object(
    'entries', coalesce(json_agg(json_build_object('audit_id', audit_id, 'time', helio.rfc3339(at), 'actor', actor,
        'action', action, 'object', object, 'detail', detail, 'hash', encode(hash, 'hex')) order by audit_id desc), '[]'),
    'next', nullif(min(audit_id), 1))::text
from page

-- name: read_audit_verify
-- The first entry that breaks the chain of hashes: {"broken_at": audit_id or null, "entries"}
select json_build_object('broken_at', helio.audit_verify(), 'entries', (select count(*) from helio.audit))::text

-- name: read_report
-- $1 tenant; $2 days (1 to 400), today's among them. As read_totals, and by day (UTC) and tenant, newest first: "usage", by
-- the ledger; "baselines", what the jobs that ended on the day used, would have used, and saved by that, one entry for
-- each baseline and kind of intensity (null: not known, nor then the carbon). "jobs_not_at_home": of those jobs, the ones
-- that are in no entry of the baseline home: they have no home site, or none of its pools can run them.
-- The first day is said in full each time: behind a join it would not lead to an index. A year of fifty tenants has 55,000 entries: rows are
-- sorted before they become JSON, and become it whole.
with by_state as (
    select t.state, sum(t.tasks)::int8 as tasks, (sum(t.gpu_ms) / 1000.0)::float8 as gpu_seconds,
        (sum(t.cost_micro_usd) / 1000000.0)::float8 as cost_usd, (sum(t.energy_j) / 3600000.0)::float8 as energy_kwh,
        (sum(t.carbon_mg) / 1000.0)::float8 as carbon_g
    from helio.totals_now t where $1::text is null or t.tenant = $1::text
    group by t.state
), used as (
    select u.day as time, u.tenant, sum(u.jobs_first)::int8 as jobs, helio.bounded(sum(u.gpu_ms)) / 1000.0::float8 as gpu_seconds,
        helio.bounded(sum(u.cost_micro_usd)) / 1000000.0::float8 as cost_usd, helio.bounded(sum(u.energy_j)) / 3600000.0::float8 as energy_kwh,
        helio.bounded(sum(u.carbon_mg)) / 1000.0::float8 as carbon_g, helio.bounded(sum(u.fenced_gpu_ms)) / 1000.0::float8 as fenced_gpu_seconds,
        helio.bounded(sum(u.estimated_gpu_ms)) / 1000.0::float8 as estimated_gpu_seconds,
        sum(u.carbon_estimated_j)::float8 / nullif(sum(u.energy_j), 0) as carbon_estimated_ratio,
        sum(u.measured_j)::float8 / nullif(sum(u.energy_j), 0) as measured_ratio,
        helio.bounded(sum(u.transfer_micro_usd)) / 1000000.0::float8 as transfer_cost_usd,
        helio.bounded(sum(u.transfer_mg)) / 1000.0::float8 as transfer_carbon_g
    from helio.usage_days u
    where u.day >= date_trunc('day', now(), 'UTC') - make_interval(days => least(greatest($2::int4, 1), 400) - 1)
      and ($1::text is null or u.tenant = $1::text)
    group by u.day, u.tenant
), held as (
    select s.* from helio_report.savings_daily s
    where s.time >= date_trunc('day', now(), 'UTC') - make_interval(days => least(greatest($2::int4, 1), 400) - 1)
      and ($1::text is null or s.tenant = $1::text)
)
select json_build_object(
    'jobs', coalesce(json_object_agg(helio.state_word(state), tasks order by state) filter (where tasks > 0), '{}'),
    'jobs_total', coalesce(sum(tasks), 0), 'gpu_seconds', coalesce(sum(gpu_seconds), 0),
    'cost_usd', coalesce(sum(cost_usd), 0), 'energy_kwh', coalesce(sum(energy_kwh), 0),
    'carbon_g', coalesce(sum(carbon_g), 0), 'days', least(greatest($2::int4, 1), 400),
    'usage', (select coalesce(json_agg(u), '[]')
        from (select to_char(u.time at time zone 'UTC', 'YYYY-MM-DD') as day, u.tenant, u.jobs, u.gpu_seconds, u.cost_usd, u.energy_kwh, u.carbon_g,
                  u.fenced_gpu_seconds, u.estimated_gpu_seconds, u.carbon_estimated_ratio, u.measured_ratio, u.transfer_cost_usd, u.transfer_carbon_g
              from used u order by u.time desc, u.tenant) u),
    'baselines', (select coalesce(json_agg(h), '[]')
        from (select to_char(h.time at time zone 'UTC', 'YYYY-MM-DD') as day, h.tenant, h.baseline, h.carbon_kind, h.jobs, h.jobs_estimated,
                  h.used_cost_usd, h.used_energy_kwh, h.used_carbon_g, h.used_wait_seconds, h.baseline_cost_usd, h.baseline_energy_kwh,
                  h.baseline_carbon_g, h.baseline_wait_seconds, h.cost_usd_saved as saved_cost_usd, h.energy_kwh_saved as saved_energy_kwh,
                  h.carbon_g_saved as saved_carbon_g, h.wait_seconds_saved as saved_wait_seconds
              from held h order by h.time desc, h.tenant, h.baseline, h.carbon_kind) h),
    'jobs_not_at_home', (select coalesce(sum(b.jobs), 0)::int8 from helio.savings_days b
        where b.day >= date_trunc('day', now(), 'UTC') - make_interval(days => least(greatest($2::int4, 1), 400) - 1)
          and b.baseline = 2 and ($1::text is null or b.tenant = $1::text)))::text
from by_state

-- name: read_balance
-- $1 days (1 to 400), today's among them. By day (UTC) and site, newest first: what is booked, what the meter says, and the
-- difference over those hours of which both are known in whole: [{"day", "site", "hours", "jobs_kwh", "idle_kwh",
-- "foreign_kwh", "overhead_kwh", "meter_kwh", "hours_compared", "difference_ratio", "estimated"}]
with days as (
    select date_trunc('day', b.time, 'UTC') as day, b.site, count(*) as hours, sum(b.jobs_kwh) as jobs_kwh,
        sum(b.idle_kwh) as idle_kwh, sum(b.foreign_kwh) as foreign_kwh, sum(b.overhead_kwh) as overhead_kwh,
        sum(b.meter_kwh) as meter_kwh, count(b.difference_ratio) as hours_compared,
        sum((b.difference_ratio + 1) * b.meter_kwh)
            / nullif(sum(b.meter_kwh) filter (where b.difference_ratio is not null), 0) - 1 as difference_ratio,
        bool_or(b.estimated) as estimated
    from helio_report.energy_balance b
    where b.time >= date_trunc('day', now(), 'UTC') - make_interval(days => least(greatest($1::int4, 1), 400) - 1)
    group by 1, 2
)
select coalesce(json_agg(json_build_object('day', to_char(d.day at time zone 'UTC', 'YYYY-MM-DD'), 'site', d.site,
    'hours', d.hours, 'jobs_kwh', d.jobs_kwh, 'idle_kwh', d.idle_kwh, 'foreign_kwh', d.foreign_kwh,
    'overhead_kwh', d.overhead_kwh, 'meter_kwh', d.meter_kwh, 'hours_compared', d.hours_compared,
    'difference_ratio', d.difference_ratio, 'estimated', d.estimated) order by d.day desc, d.site), '[]')::text
from days d

-- name: read_balance_now
-- Booked over metered energy of each site's last 24 hours, of the hours that are known in whole: [{"site", "ratio"}]
select coalesce(json_agg(json_build_object('site', b.site, 'ratio', b.ratio) order by b.site), '[]')::text
from (
    select b.site, sum((b.difference_ratio + 1) * b.meter_kwh) / nullif(sum(b.meter_kwh), 0) as ratio
    from helio_report.energy_balance b
    where b.time >= now() - interval '25 hours' and b.difference_ratio is not null
    group by b.site
) b
where b.ratio is not null

-- name: read_history
-- $1 tenant: whose jobs `away` counts; $2 hours (1 to 168); $3 site, and no other (no row: there is none of that name); null: all.
-- What every site was at the end of each step, from its last sample within it
-- (null: none came, as of a silent site); carbon as helio_report.site_energy has it, and the price as helio_report.site_price, the mean
-- over the GPUs of its pools. A step is a quarter of an hour, and an hour for more than a day: {"step_s", "times", "sites": [{"site",
-- "gpus_total": one for each time, "gpus_free", "jobs_running", "power_watts", "carbon_g_per_kwh", "price_usd_per_gpu_h", "draining",
-- "curtailed_to_percent"}],
-- "away": [{"time", "from", "to", "jobs"}]}. `away`: jobs placed within the step at another site than their home, among the newest
-- 20,000 placements. `draining`: by the commands among the newest 20,000 entries of the audit; before the first of them, what it changed.
-- `late` is most of the samples by their index, `samples` looks for one in each other step. `known`: a series has its values in the hours after them,
-- for a day or until the next. Sites, pools and steps have numbers here, by which all of this is joined.
with span as materialized (
    select s.step_s, s.steps, s.until - make_interval(secs => s.step_s * s.steps) as since, s.until
    from (select h.hours * 3600 / x.step_s as steps, x.step_s, date_bin(make_interval(secs => x.step_s), now(), 'epoch') as until
          from (select least(greatest($2::int4, 1), 168) as hours) h
          cross join lateral (select case when h.hours > 24 then 3600 else 900 end as step_s) x) s
), steps as materialized (
    select i, s.since + make_interval(secs => s.step_s * i) as at from span s, generate_series(1, s.steps) i
), places as materialized (
    select row_number() over (order by s.site)::int4 as place, s.site, s.draining, s.seen_at, s.pue, s.electricity_usd_per_kwh,
        case when s.carbon_g_per_kwh >= 0 then s.carbon_g_per_kwh end as carbon_g_per_kwh
    from helio.sites s where $3::text is null or s.site = $3::text
), parts as materialized (
    select s.place, row_number() over (order by p.site, p.pool)::int4 as part, p.site, p.pool, p.price_usd_per_gpu_h, s.electricity_usd_per_kwh,
        p.owned, s.pue, p.host_w + p.base_w + p.slope_w as watts
    from helio.pools p join places s using (site)
), late as materialized (
    select p.part, l.*
    from span s cross join parts p cross join lateral (
        select distinct on (i.i) i.i, c.at, c.gpus_total, c.gpus_free, c.jobs_running, c.site_power_w
        from helio.capacity_samples c
        cross join lateral (select ceil(date_part('epoch', c.at - s.since) / s.step_s)::int4 as i) i
        where c.site = p.site and c.pool = p.pool and helio.ends_quarter(c.at) and c.at > s.since and c.at <= s.until
          and c.at > s.since + make_interval(secs => s.step_s * i.i - 120)
        order by i.i, c.at desc) l
), samples as materialized (
    select p.place, p.part, t.i, c.at, helio.utc_hour(c.at) as hour, c.gpus_total, c.gpus_free, c.jobs_running, c.site_power_w
    from span s cross join parts p cross join steps t
    left join late l on l.part = p.part and l.i = t.i
    cross join lateral (
        select l.at, l.gpus_total, l.gpus_free, l.jobs_running, l.site_power_w where l.at is not null
        union all
        (select c.at, c.gpus_total, c.gpus_free, c.jobs_running, c.site_power_w
         from helio.capacity_samples c
         where l.at is null and c.site = p.site and c.pool = p.pool and c.at > t.at - make_interval(secs => s.step_s) and c.at <= t.at
         order by c.at desc limit 1)) c
), series as (
    select w.place, w.part, w.signal, a.hour, a.value,
        lead(a.hour, 1, 'infinity') over (partition by w.place, w.part, w.signal order by a.hour) as next
    from span n
    cross join (select s.place, 0 as part, s.site, '' as pool, g as signal from places s, generate_series(1, 3) g
                union all select p.place, p.part, p.site, p.pool, 1 from parts p where p.pool <> '') w
    cross join lateral (
        select a.hour, a.value from helio.actuals a
        where a.site = w.site and a.signal = w.signal and a.pool = w.pool
          and a.hour <= n.until and a.hour > n.since - interval '26 hours'
        offset 0) a
), known as materialized (
    select k.place, k.part, k.signal, h as hour, k.value
    from span n cross join series k
    cross join lateral generate_series(greatest(k.hour, helio.utc_hour(n.since)),
        least(k.next - interval '1 hour', k.hour + interval '24 hours', n.until), interval '1 hour') h
), shown as materialized (
    select m.place, m.i, helio.utc_hour(max(m.at)) as hour, sum(m.gpus_total)::int4 as gpus_total, sum(m.gpus_free)::int4 as gpus_free,
        sum(m.jobs_running)::int4 as jobs_running, nullif(max(m.site_power_w), -1) as power_watts,
        sum(coalesce(o.value, r.value, case when not p.owned then p.price_usd_per_gpu_h
            else coalesce(e.value, p.electricity_usd_per_kwh) * p.pue * p.watts / 1000 end) * m.gpus_total)
            / nullif(sum(m.gpus_total), 0) as price_usd_per_gpu_h
    from samples m join parts p using (part)
    left join known o on o.part = m.part and o.signal = 1 and o.hour = m.hour
    left join known r on r.part = 0 and r.place = m.place and r.signal = 1 and r.hour = m.hour
    left join known e on e.part = 0 and e.place = m.place and e.signal = 2 and e.hour = m.hour
    group by m.place, m.i
), orders as materialized (
    select s.place, a.at, a.action = 'drain' as drains, ceil(greatest(date_part('epoch', a.at - n.since) / n.step_s, 1))::int4 as i
    from span n cross join (select a.* from helio.audit a order by a.audit_id desc limit 20000) a join places s on s.site = a.object
    where a.action in ('drain', 'undrain')
), drained as materialized (
    select d.place, g as i, d.drains
    from span n
    cross join (select o.place, o.i, o.drains, lead(o.i, 1, 1000) over (partition by o.place order by o.at) as next from orders o
                union all (select distinct on (o.place) o.place, 1, not o.drains, o.i from orders o order by o.place, o.at)) d
    cross join lateral generate_series(d.i, least(d.next - 1, n.steps)) g
), curtailed as materialized (
    select s.place, t.i, min(c.percent)::int4 as percent
    from span n
    join helio.curtailments c on c.until_at > n.since and c.from_at <= n.until
    join places s using (site)
    join steps t on c.from_at <= t.at and t.at < least(c.until_at, c.ended_at)
    group by s.place, t.i
), rows as (
    select s.place, json_agg(m.gpus_total order by t.i) as gpus_total, json_agg(m.gpus_free order by t.i) as gpus_free,
        json_agg(m.jobs_running order by t.i) as jobs_running, json_agg(m.power_watts order by t.i) as power_watts,
        json_agg(case when m.hour is not null then coalesce(k.value, s.carbon_g_per_kwh) end order by t.i) as carbon_g_per_kwh,
        json_agg(m.price_usd_per_gpu_h order by t.i) as price_usd_per_gpu_h,
        json_agg(coalesce(d.drains, s.draining) order by t.i) as draining, json_agg(c.percent order by t.i) as curtailed
    from places s cross join steps t
    left join shown m on m.place = s.place and m.i = t.i
    left join known k on k.part = 0 and k.place = s.place and k.signal = 3 and k.hour = m.hour
    left join drained d on d.place = s.place and d.i = t.i
    left join curtailed c on c.place = s.place and c.i = t.i
    where s.seen_at is not null
    group by s.place
), placed as materialized (
    select p.job_id, p.site, ceil(date_part('epoch', p.at - s.since) / s.step_s)::int4 as i
    from span s cross join helio.placements p
    where p.at > s.since
    order by p.at desc limit 20000
), moved as (
    select t.at, g.home_site, g.site, g.jobs
    from (select p.i, j.home_site, p.site, count(*) as jobs
          from placed p join helio.jobs j using (job_id)
          where j.home_site <> p.site and ($1::text is null or j.tenant = $1::text) and ($3::text is null or $3::text in (j.home_site, p.site))
          group by p.i, j.home_site, p.site) g
    join steps t using (i)
)
select json_build_object('step_s', (select s.step_s from span s),
    'times', (select json_agg(helio.rfc3339(t.at) order by t.i) from steps t),
    'sites', coalesce((select json_agg(json_build_object('site', s.site, 'gpus_total', r.gpus_total, 'gpus_free', r.gpus_free,
        'jobs_running', r.jobs_running, 'power_watts', r.power_watts, 'carbon_g_per_kwh', r.carbon_g_per_kwh,
        'price_usd_per_gpu_h', r.price_usd_per_gpu_h, 'draining', r.draining, 'curtailed_to_percent', r.curtailed) order by s.site)
        from rows r join places s using (place)), '[]'),
    'away', coalesce((select json_agg(json_build_object('time', helio.rfc3339(m.at), 'from', m.home_site, 'to', m.site, 'jobs', m.jobs)
        order by m.at, m.home_site, m.site) from moved m), '[]'))::text
where $3::text is null or exists (select from places) or exists (select from moved)

-- name: read_forecasts_now
-- How far off the series issued one to two days ago were a day ahead: [{"site", "signal", "error_ratio"}].
select coalesce(json_agg(json_build_object('site', e.site, 'signal', e.signal, 'error_ratio', e.error_ratio)
    order by e.site, e.signal), '[]')::text
from (
    select e.site, e.signal, avg(e.ape_ratio) as error_ratio
    from helio_report.forecast_error e
    where e.issued_at between now() - interval '2 days' and now() - interval '1 day' and e.horizon_h = 24
    group by e.site, e.signal
) e

-- name: read_series_now
-- The last issue of each series, by site and signal: [{"site", "signal", "failed", "age_s"}]. failed: null if the agent does not
-- report it. A failed feed is as old as its last value, although its series was made in this hour.
select coalesce(json_agg(json_build_object('site', s.site, 'signal', helio.signal_word(s.signal), 'failed', s.feed_state in (2, 3),
    'age_s', helio.seconds_between(coalesce(s.last_value_at, s.issued_at), now()))
    order by s.site, s.signal), '[]')::text
from helio.series_now s

-- name: read_totals
-- $1 tenant. Over all time: {"jobs": {state: tasks}, "jobs_total", "gpu_seconds", "cost_usd", "energy_kwh", "carbon_g"}
with by_state as (
    select t.state, sum(t.tasks)::int8 as tasks, (sum(t.gpu_ms) / 1000.0)::float8 as gpu_seconds,
        (sum(t.cost_micro_usd) / 1000000.0)::float8 as cost_usd, (sum(t.energy_j) / 3600000.0)::float8 as energy_kwh,
        (sum(t.carbon_mg) / 1000.0)::float8 as carbon_g
    from helio.totals_now t where $1::text is null or t.tenant = $1::text
    group by t.state
)
select json_build_object(
    'jobs', coalesce(json_object_agg(helio.state_word(state), tasks order by state) filter (where tasks > 0), '{}'),
    'jobs_total', coalesce(sum(tasks), 0), 'gpu_seconds', coalesce(sum(gpu_seconds), 0),
    'cost_usd', coalesce(sum(cost_usd), 0), 'energy_kwh', coalesce(sum(energy_kwh), 0),
    'carbon_g', coalesce(sum(carbon_g), 0))::text
from by_state

-- name: read_retention
-- What retention did, and how many old jobs are open: {"tables": [{"table", "deleted", "oldest_s"}], "open_backlog"}; oldest_s null: not known.
select json_build_object('tables', coalesce((select json_agg(json_build_object('table', r.what, 'deleted', r.deleted,
        'oldest_s', date_part('epoch', now() - r.oldest_at)) order by r.what) from helio.retention r), '[]'),
    'open_backlog', (select count(*) from helio.unsettled))::text
