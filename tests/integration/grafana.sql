-- What the boards of deploy/grafana show beside the history of tests/bench: what sites offer now, open jobs, and a budget.
insert into helio.capacity_now (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved,
    largest_block_gpus, jobs_running, jobs_queued, site_power_w)
select site, pool, now(), 100, 800, 300, 500, 0, 8, 10, 5, 200000 from helio.pools;
update helio.sites set seen_at = now();
insert into helio.budgets (tenant, queue, kind, period, amount, set_at)
select tenant, q.queue, 1, 3, 1000000000, now() from helio.tenants, (values (''), ('standard')) q (queue);
-- The newest job of each site runs, and the one before it waits.
select s.job_id, (array [4, 0])[row_number() over (partition by s.site order by s.job_id desc)] as state
into temp open_jobs from helio.job_state s;
delete from open_jobs where state is null;
update helio.job_state s set state = o.state, finished_at = null, exit_code = null, reason = 'NoCapacity'
from open_jobs o where s.job_id = o.job_id;
update helio.federation set open_from = (select job_id from open_jobs order by job_id limit 1);
insert into helio.transitions (seq, at, job_id, task, epoch, from_state, to_state, actor)
select (select max(seq) from helio.transitions) + row_number() over (order by job_id), now() - interval '1 minute', job_id, -1, 1, 4, 7,
    'broker' from open_jobs;
analyze;
