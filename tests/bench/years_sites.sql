-- The rest of that life: sites of two pools, :days of samples a minute and of series, actuals, rates and balances by the hour.
set session_replication_role = replica;
set synchronous_commit = off;

insert into helio.sites (site, state, draining, backend, region, latitude, longitude, timezone, pue, carbon_g_per_kwh,
    electricity_usd_per_kwh, containers, leases, agent_version, seen_at)
select 'site' || i, 2, false, 'slurm', 'EU-' || i, 50, i, 'UTC', 1.2, 200 + i, 0.1, true, true, '1.0.0', now() - interval '1 hour'
from generate_series(0, :sites - 1) i on conflict do nothing;
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node,
    memory_bytes_per_node, interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w)
select 'site' || i, p, 'H100', 80000000000, 100, 100, 8, 64, 1000000000000, 1, 0, true, 0, 60, 86, 243, 100
from generate_series(0, :sites - 1) i, unnest(array ['a', 'b']) p on conflict do nothing;
insert into helio.tenants (tenant) select 'tenant' || i from generate_series(0, 49) i on conflict do nothing;

insert into helio.capacity_samples (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved,
    largest_block_gpus, jobs_running, jobs_queued, site_power_w)
select 'site' || i, p, helio.ms_at(t), 100, 800, t / 60000 % 800, 800 - t / 60000 % 800, 0, 8, 10, 5, 200000
from generate_series((:end_ms::bigint - :days::bigint * 86400000) / 60000 * 60000, :end_ms::bigint, 60000) t,
    generate_series(0, :sites - 1) i, unnest(array ['a', 'b']) p;

-- Carbon 72 h ahead, electricity 48, issued each hour; the free GPUs of each pool 24 h ahead, each hour.
insert into helio.series (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s, "values", p10, p90)
select 'site' || i, s.pool, s.signal, s.kind, s.factor, 'feed', false, helio.ms_at(t), helio.ms_at(t), 3600,
    v."values", null, null
from generate_series((:end_ms::bigint - :days::bigint * 86400000) / 3600000 * 3600000, :end_ms::bigint, 3600000) t,
    generate_series(0, :sites - 1) i,
    (values ('', 3::smallint, 'average', 'lifecycle', 72), ('', 2::smallint, '', null, 48), ('a', 0::smallint, '', null, 24),
            ('b', 0::smallint, '', null, 24)) s (pool, signal, kind, factor, size)
cross join lateral (select array_agg(200 + 100 * sin((t / 3600000 + k + i) * 0.2618)) as "values"
                    from generate_series(1, s.size) k) v;
insert into helio.series_now select distinct on (site, pool, signal, kind) * from helio.series
where issued_at > helio.ms_at(:end_ms) - interval '2 hours' order by site, pool, signal, kind, issued_at desc;

insert into helio.actuals (site, pool, signal, hour, value, issued_at, estimated, kind, factor, source)
select 'site' || i, '', s.signal, helio.ms_at(t), 200 + 100 * sin(t / 3600000 * 0.2618), helio.ms_at(t + 3600000), false, s.kind,
    s.factor, 'feed'
from generate_series((:end_ms::bigint - :days::bigint * 86400000) / 3600000 * 3600000, :end_ms::bigint, 3600000) t,
    generate_series(0, :sites - 1) i, (values (3::smallint, 'average', 'lifecycle'), (2::smallint, '', null)) s (signal, kind, factor);

insert into helio.rates (rates_id, site, pool, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh,
    carbon_g_per_kwh, carbon_kind, carbon_factor, carbon_source, carbon_issued_at, pue_estimated, price_estimated,
    electricity_estimated, carbon_estimated)
select t / 3600000 * 4096 + i * 2 + (p = 'b')::integer, 'site' || i, p, helio.ms_at(t), 500, 1.2, 2, 0.1, 250, 'average',
    'lifecycle', 'feed', helio.ms_at(t), false, false, false, false
from generate_series((:end_ms::bigint - 366 * 86400000::bigint) / 3600000 * 3600000, :end_ms::bigint, 3600000) t,
    generate_series(0, :sites - 1) i, unnest(array ['a', 'b']) p;

insert into helio.site_ledger (site, pool, hour, part, energy_j, source, estimated, issued_at)
select 'site' || i, case when part = 3 then '' else 'a' end, helio.ms_at(t), part, 100000000, 'meter', false, helio.ms_at(t)
from generate_series((:end_ms::bigint - :days::bigint * 86400000) / 3600000 * 3600000, :end_ms::bigint, 3600000) t,
    generate_series(0, :sites - 1) i, generate_series(0, 3) part;

-- What waits: twenty groups of tenant, queue and reason every five minutes.
insert into helio.waiting_samples (at, tasks, gpus, tenant, queue, reason)
select helio.ms_at(t), 1 + t / 60000 % 90, 8 * (1 + t / 60000 % 90), 'tenant' || (g + t / 3600000) % 50, 'standard', r
from generate_series((:end_ms::bigint - :days::bigint * 86400000) / 300000 * 300000, :end_ms::bigint, 300000) t,
    generate_series(0, 9) g, unnest(array ['NoCapacity', 'WaitingForWindow']) r on conflict do nothing;

insert into helio.classes (class_id, tenant, queue, summary, reason, detail, decision_id, at)
select i, 'tenant' || i % 50, 'standard', 'H100:1', 'NoCapacity', 'no site has 1 H100 free', 0, now()
from generate_series(0, 1999) i on conflict do nothing;
