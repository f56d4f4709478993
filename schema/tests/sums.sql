-- What the sums of a row cost: the triggers' plans are made while the tables are small, and last as long as the session of the writer.
begin;
select no_plan();

create function pg_temp.write(first integer, last integer) returns void language sql as $$
    insert into helio.rates (rates_id, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh, pue_estimated, price_estimated,
        electricity_estimated, carbon_estimated, site, carbon_kind)
    select 880000 + n, '2026-04-01 00:00+00', 1, 1, 1, 1, false, false, false, false, 'su', 'average' from generate_series(first, last) n;
    insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, at, run_ms, gpu_ms, energy_j, units_done, site)
    select ('0199b0a6-0000-7000-8000-0000000' || lpad(n::text, 5, '0'))::uuid, -1, 1, 5, true, false, '2026-04-01 00:00+00', 1, 4, 1, 8, 'su'
    from generate_series(first, last) n;
    insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue, rates_id)
    select ('0199b0a6-0000-7000-8000-0000000' || lpad(n::text, 5, '0'))::uuid, -1, 1, '2026-04-01 00:00+00', 4, 5, 6, 7, n % 2 = 0, 'su-a', 'su',
        'standard', 880000 + n
    from generate_series(first, last) n;
    insert into helio.baselines (job_id, task, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_energy_j,
        home_carbon_mg, home_cost_micro_usd, least_wait_ms, least_energy_j, least_carbon_mg, least_cost_micro_usd, estimated, tenant, home_site)
    select ('0199b0a6-0000-7000-8000-0000000' || lpad(n::text, 5, '0'))::uuid, -1, '2026-04-01 00:00+00', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, false, 'su-a', 'su'
    from generate_series(first, last) n;
$$;
create function pg_temp.rows_read(out relname name, out rows bigint) returns setof record language sql as $$
    select s.relname, coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0) from pg_stat_xact_user_tables s
    where s.schemaname = 'helio' and s.relname in ('attempts', 'baselines', 'ledger', 'rates')
$$;
select pg_temp.write(1, 500);
select pg_temp.write(501, 2000);
create temporary table read_before as select * from pg_temp.rows_read();
select pg_temp.write(2001, 2002);
select ok(r.rows - b.rows <= 8, format('two rows more read no table of two thousand: %s rows of %s', r.rows - b.rows, r.relname))
from pg_temp.rows_read() r join read_before b using (relname);
select is(count(*), 4::bigint, 'of each table that a trigger could read') from read_before;
select is((d.jobs, d.gpu_ms, d.units_done, h.gpu_ms), (2002::bigint, 8008::bigint, 16016::float8, 8008::bigint), 'and they count')
from helio.usage_days d join helio.usage_hours h using (site) where d.tenant = 'su-a';

select * from finish();
rollback;
